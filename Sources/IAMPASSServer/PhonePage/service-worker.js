// Rings the phone while the page is closed. A push message only says which request to fetch: what is shown and signed
// comes from the service itself.
"use strict";

importScripts("shared.js");

const { accounts, answerStatement, ask, base, contextPairs, fitsNotice, Refusal, sendAnswer, title } = globalThis.iampass;
const page = new URL("phone/", base).href;
const icon = new URL("phone/phone-icon-192.png", base).href;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(ring(event)));
self.addEventListener("notificationclick", (event) => event.waitUntil(act(event)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(move(event)));

/** The page's windows. */
async function windows() {
  const all = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return all.filter(({ url }) => url.startsWith(page));
}

async function ring(event) {
  const { device, session } = event.data?.json() ?? {};
  // The open page already shows it. Browsers end the subscription of a page that shows no notification.
  const silent = (await windows()).some((client) => client.visibilityState === "visible");
  try {
    const account = await accounts.get(device);
    const { requests } = await ask(account, "requests", "requests", { known: [] });
    const request = requests.find((one) => one.session === session);
    if (request) await showRequest(account, request, silent);
    else await showPlain("A request has ended", "It was answered, or its time is over.", session);
  } catch {
    // The phone must ring all the same. The page says what failed.
    await showPlain("New request", "Open IAMPASS to see and answer it.", session);
  }
}

function showRequest(account, request, silent) {
  const facts = contextPairs(request.context);
  const lines = [`For ${account.user} at ${account.application}`, ...facts.map(({ label, value }) => `${label}: ${value}`)];
  return self.registration.showNotification(title(request.context), {
    body: lines.join("\n"), tag: request.session, icon, badge: icon, silent, renotify: true, requireInteraction: true,
    data: { device: account.device, session: request.session, request },
    actions: [
      // A request that a notification may cut is approved on the page, which shows it whole.
      ...(fitsNotice(request.context) ? [{ action: "approve", title: "Approve" }] : []), { action: "deny", title: "Deny" },
    ],
  });
}

/** Codes, the screen lock and long requests need the page. */
function needsPage({ match_code, method, context }) {
  return match_code || (method ?? "acceptance") !== "acceptance" || !fitsNotice(context);
}

function showPlain(heading, body, session) {
  return self.registration.showNotification(heading, { body, tag: session ?? "iampass", icon, badge: icon, data: { session } });
}

async function act(event) {
  const { device, session, request } = event.notification.data ?? {};
  event.notification.close();
  if (!request || !["approve", "deny"].includes(event.action) || (event.action === "approve" && needsPage(request))) {
    return open(session);
  }
  try {
    const account = await accounts.get(device);
    await sendAnswer(account, await answerStatement(account, request, event.action));
  } catch (error) {
    const why = !(error instanceof Refusal) ? "Open IAMPASS to see why."
      : error.isOutage ? "The service cannot be reached." : "Its time is over, or it was already answered.";
    await showPlain(event.action === "deny" ? "Not denied" : "Not approved", why, session);
  }
}

async function open(session) {
  const [client] = await windows();
  if (!client) return self.clients.openWindow(session ? `${page}#session=${session}` : page);
  client.postMessage({ session });
  return client.focus();
}

/** Tells the service the new address that the push service gave this browser. */
async function move(event) {
  const options = event.oldSubscription?.options;
  const subscription = event.newSubscription ?? (options && (await self.registration.pushManager.subscribe(options)));
  if (!subscription) return;
  const { endpoint, keys } = subscription.toJSON();
  for (const account of await accounts.all()) {
    await ask(account, "push", "push", { subscription: { endpoint, p256dh: keys.p256dh, auth: keys.auth } });
  }
}
