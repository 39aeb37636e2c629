// Rings the phone while the page is closed, and keeps the page for when there is no network. A push message only says which request to fetch: what is shown and signed
// comes from the service itself.
"use strict";

importScripts("shared.js");

const {
  accounts, answerStatement, ask, base, contextPairs, fitsNotice, isForDocument, notifications, Refusal, sendAnswer,
  showNotification, title,
} = globalThis.iampass;
const page = new URL("phone/", base).href;
const icon = new URL("phone/phone-icon-192.png", base).href;

/** The page's files, below phone/. */
const files = [
  "", "account-view.js", "app.js", "changes.js", "document-forms.js", "document-memory.js", "document-part.js", "dom.js",
  "events.js", "offline.js", "phone-icon-192.png", "phone-icon.svg", "phone.css", "phone.webmanifest", "pins.js",
  "proofs.js", "refusals.js", "registration.js", "requests.js", "review.js", "ringing.js", "screen-lock.js", "shared.js",
].map((name) => page + name);
/** Where they are kept. */
const shelf = "iampass page";
/** Milliseconds that a network may take for a file before the kept one is shown. */
const patience = 3_000;
/** Milliseconds after which a further request from one place rings again. */
const stormPause = 20_000;

self.addEventListener("install", (event) => event.waitUntil(keepAll().then(() => self.skipWaiting())));
self.addEventListener("fetch", (event) => {
  const address = event.request.url.replace(/[?#].*$/s, "");
  if (event.request.method === "GET" && files.includes(address)) event.respondWith(pageFile(event, address));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(ring(event)));
self.addEventListener("notificationclick", (event) => event.waitUntil(act(event)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(move(event)));

self.addEventListener("message", (event) => {
  if (event.data?.isKept) event.waitUntil(isKept().then((kept) => event.ports[0]?.postMessage({ kept })));
});

/** Keeps the whole page, or goes on with what is kept. */
async function keepAll() {
  const kept = await caches.open(shelf);
  await kept.addAll(files.map((address) => new Request(address, { cache: "no-cache", credentials: "omit" }))).catch(() => {});
}

/** Whether the page would open without a network. What is missing is tried once more. */
async function isKept() {
  const hasAll = async () => {
    const kept = await caches.open(shelf);
    return (await Promise.all(files.map((address) => kept.match(address)))).every(Boolean);
  };
  try {
    if (await hasAll()) return true;
    await keepAll();
    return await hasAll();
  } catch {
    return false;
  }
}

/** The service's file, which is kept for the next time; without the service, the kept one. */
function pageFile(event, address) {
  const asked = fetch(event.request).then((response) => (response.status < 500 ? response : null), () => null);
  // Copied before anybody reads it.
  event.waitUntil(asked.then((response) => response?.ok && keep(address, response.clone())).catch(() => {}));
  return firstOf(asked, address);
}

async function keep(address, response) {
  await (await caches.open(shelf)).put(address, response);
}

async function firstOf(asked, address) {
  const late = new Promise((resolve) => setTimeout(resolve, patience, null));
  const kept = async () => (await caches.open(shelf)).match(address);
  return (await Promise.race([asked, late])) ?? (await kept()) ?? (await asked) ?? Response.error();
}

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
    if (request) await showRequest(account, request, (await isOneOfMany(account, request, requests)) || silent);
    else await showPlain("A request has ended", "It was answered, or its time is over.", device, session);
  } catch {
    // The phone must ring all the same. The page says what failed.
    await showPlain("New request", "Open IAMPASS to see and answer it.", device, session);
  }
}

/**
 * Whether the phone rang for the same place a moment ago, as for an ssh client that connects again and again. What was
 * shown of requests that have ended goes.
 */
async function isOneOfMany(account, request, open) {
  const place = ({ context }) => JSON.stringify([context.host, context.service, context.remote_host]);
  const shown = (await notifications(self.registration)).filter(({ data }) => data?.device === account.device && data.request);
  for (const one of shown) if (!open.some(({ session }) => session === one.data.session)) one.close();
  return shown.some(({ data }) => (
    data.session !== request.session && place(data.request) === place(request) && Date.now() - data.at < stormPause));
}

function showRequest(account, request, silent) {
  const isDocument = isForDocument(request);
  const facts = contextPairs(request.context).map(({ label, value }) => `${label}: ${value}`);
  const lines = [
    `For ${account.user} at ${account.application}`, ...(isDocument ? ["Open IAMPASS to read what it changes."] : facts),
  ];
  return showNotification(self.registration, isDocument ? "To sign as an administrator" : title(request.context), {
    body: lines.join("\n"), tag: request.session, icon, badge: icon, silent, renotify: true, requireInteraction: true,
    data: { device: account.device, session: request.session, request, at: Date.now() },
    actions: [
      // A request that a notification may cut is approved on the page, which shows it whole.
      ...(!isDocument && fitsNotice(request.context) ? [{ action: "approve", title: "Approve" }] : []), { action: "deny", title: "Deny" },
    ],
  });
}

/** Codes, the screen lock, documents and long requests need the page. */
function needsPage(request) {
  const { match_code, method, context } = request;
  return match_code || (method ?? "acceptance") !== "acceptance" || isForDocument(request) || !fitsNotice(context);
}

function showPlain(heading, body, device, session) {
  return showNotification(
    self.registration, heading, { body, tag: session ?? "iampass", icon, badge: icon, data: { device, session } });
}

async function act(event) {
  const { device, session, request } = event.notification.data ?? {};
  event.notification.close();
  if (!request || !["approve", "deny"].includes(event.action) || (event.action === "approve" && needsPage(request))) {
    return open(device, session);
  }
  try {
    const account = await accounts.get(device);
    await sendAnswer(account, await answerStatement(account, request, event.action));
  } catch (error) {
    const why = !(error instanceof Refusal) ? "Open IAMPASS to see why."
      : error.isOutage ? "The service cannot be reached." : "Its time is over, or it was already answered.";
    await showPlain(event.action === "deny" ? "Not denied" : "Not approved", why, device, session);
  }
}

async function open(device, session) {
  const [client] = await windows();
  if (!client) return self.clients.openWindow(session ? `${page}#session=${session}` : page);
  client.postMessage({ device, session });
  return client.focus();
}

/** Tells the service the new address that the push service gave this browser. */
async function move(event) {
  const options = event.oldSubscription?.options;
  const subscription = event.newSubscription ?? (options && (await self.registration.pushManager.subscribe(options)));
  if (!subscription) return;
  const { endpoint, keys } = subscription.toJSON();
  const given = { subscription: { endpoint, p256dh: keys.p256dh, auth: keys.auth } };
  // Registrations that are under way have no user yet.
  const all = (await accounts.all()).filter(({ user }) => user !== undefined);
  const told = await Promise.allSettled(all.map((account) => ask(account, "push", "push", given)));
  // One account that is refused keeps no other from ringing.
  const failed = told.find(({ status }) => status === "rejected");
  if (failed) throw failed.reason;
}
