// Notifications that come while the page is closed, by Web Push.
import "./shared.js";
import { complain, find, say, show, withButtonsOff } from "./dom.js";
import { complainOf } from "./refusals.js";

const { ask, base, base64url, fromBase64url, get, notifications } = globalThis.iampass;

/** Starts the service worker; null if this browser does not support one, or push. */
async function worker() {
  if (!("serviceWorker" in navigator)) return null;
  await navigator.serviceWorker.register(new URL("phone/service-worker.js", base), { scope: new URL("phone/", base) });
  const registration = await navigator.serviceWorker.getRegistration(new URL("phone/", base));
  return registration && "pushManager" in registration && "Notification" in window ? registration : null;
}

/**
 * The service worker once it has begun, which on a first visit still fetches its files; null if it has not in 30 seconds.
 * A registration link opens this page outside of the worker's scope, where `ready` waits for ever.
 */
export async function activeWorker() {
  const end = Date.now() + 30_000;
  for (;;) {
    const active = (await navigator.serviceWorker.getRegistration(new URL("phone/", base)))?.active;
    if (active || Date.now() > end) return active ?? null;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Does this for each account, also if it fails for another one. Throws the first failure once all were tried. */
async function forEach(accounts, work) {
  const ends = await Promise.allSettled(accounts.map(work));
  const failed = ends.find(({ status }) => status === "rejected");
  if (failed) throw failed.reason;
}

export class Ringing {
  #registration = null;
  #accounts;
  /** The address that the service was told since the page was loaded, by phone id. It may have forgotten older ones. */
  #told = new Map();

  /** @param current gives this phone's accounts at any time. */
  constructor(current) {
    this.#accounts = current;
    find("ringing-on").addEventListener("click", () => void this.#attempt(() => this.#turnOn()));
    find("ringing-off").addEventListener("click", () => void this.#attempt(() => this.#turnOff()));
  }

  async start() {
    try {
      this.#registration = await worker();
      await this.#dropStranger();
    } catch {
      // The page works without it, and says that it does not ring.
    }
    await this.refresh();
  }

  /** Removes notifications of requests that are not open any more. */
  async tidy(account, requests) {
    if (!this.#registration) return;
    const open = new Set(requests.map(({ session }) => session));
    for (const one of await notifications(this.#registration)) {
      if (one.data?.device === account.device && one.data.request && !open.has(one.data.session)) one.close();
    }
  }

  /** A subscription for another key would never ring: the service was set up again since. */
  async #dropStranger() {
    const subscription = await this.#registration?.pushManager.getSubscription();
    const made = subscription?.options?.applicationServerKey;
    if (!made) return;
    const { key } = await get("device/v1/push-key");
    if (base64url(made) !== key) await subscription.unsubscribe();
  }

  /** After accounts came or went: gives each this browser's subscription. */
  async refresh() {
    const subscription = await this.#registration?.pushManager.getSubscription();
    const hasAccount = this.#accounts().length > 0;
    find("ringing").hidden = !hasAccount;
    if (!hasAccount) await subscription?.unsubscribe();
    this.#describe(subscription);
    if (subscription) await this.#tell(subscription).catch(() => {});
  }

  /** Tells the service what it could not be told while it was away. */
  async catchUp() {
    const subscription = await this.#registration?.pushManager.getSubscription();
    if (subscription) await this.#tell(subscription).catch(() => {});
  }

  #describe(subscription) {
    find("ringing-on").hidden = !this.#registration || Boolean(subscription);
    find("ringing-off").hidden = !subscription;
    find("keep-open").hidden = Boolean(subscription);
    if (!this.#registration) {
      show(find("ringing-text"), "This browser cannot ring while this page is closed: keep this page open to be asked. "
        + "On an iPhone, add the page to the home screen first, and register there.");
    } else if (subscription) {
      show(find("ringing-text"), "This phone rings for new requests, also while this page is closed.");
    } else if (Notification.permission === "denied") {
      show(find("ringing-text"), "Notifications are blocked for this page: allow them in the browser’s settings. "
        + "Until then, keep the page open to be asked.");
    } else {
      show(find("ringing-text"), "Without notifications, keep this page open to be asked.");
    }
  }

  #attempt(work) {
    return withButtonsOff(find("ringing"), async () => {
      complain(null);
      try {
        await work();
      } catch (error) {
        complainOf(error);
      }
      this.#describe(await this.#registration?.pushManager.getSubscription());
    });
  }

  async #turnOn() {
    if ((await Notification.requestPermission()) !== "granted") return;
    const { key } = await get("device/v1/push-key");
    // Browsers subscribe for no other.
    if (!(await activeWorker())) throw new Error("the browser has not begun what rings. Load the page again.");
    const subscription = await this.#registration.pushManager.subscribe({
      userVisibleOnly: true, applicationServerKey: fromBase64url(key),
    });
    await this.#tell(subscription);
    say("Notifications are on.");
  }

  async #turnOff() {
    const subscription = await this.#registration.pushManager.getSubscription();
    try {
      await forEach(this.#accounts(), (account) => this.#put(account, null));
    } finally {
      // Then nothing rings, whatever the service was told.
      await subscription?.unsubscribe();
    }
    say("Notifications are off.");
  }

  /** Tells the service where each account's phone is rung, unless it knows. */
  async #tell(subscription) {
    const { endpoint, keys } = subscription.toJSON();
    const untold = this.#accounts().filter(({ device }) => this.#told.get(device) !== endpoint);
    await forEach(untold, (account) => this.#put(account, { endpoint, p256dh: keys.p256dh, auth: keys.auth }));
  }

  async #put(account, subscription) {
    await ask(account, "push", "push", { subscription });
    this.#told.set(account.device, subscription?.endpoint);
  }
}
