// An opened registration link: shows which user the phone will belong to; one tap registers it.
import "./shared.js";
import * as screenLock from "./screen-lock.js";
import { complain, fillFacts, find, sayForLong, show, withButtonsOff } from "./dom.js";
import { forgetSecret, keepSecret, pin, words } from "./pins.js";
import { complainOf, sentence } from "./refusals.js";

const { accounts, base, get, makeAgreementKey, makeKey, post } = globalThis.iampass;

/** Marks a key whose registration is under way; it is never an account. */
const pending = "pending";

/** The code in a registration link of this service; null for any other text. */
export function codeIn(link) {
  const start = base.pathname + "register/";
  try {
    const url = new URL(link.trim());
    if (url.origin !== base.origin || !url.pathname.startsWith(start)) return null;
    const code = decodeURIComponent(url.pathname.slice(start.length));
    return code && !code.includes("/") ? code : null;
  } catch {
    return null;
  }
}

/** Takes the code out of the address bar and of this tab's history. */
export function hideCode() {
  history.replaceState(null, "", new URL("phone/", base));
}

export class Registration {
  #code;
  #secret;
  #link = null;
  #hasLock = false;
  /** Whether the service took the phone without its screen lock, since its passkey is synced to other devices. */
  #isSynced = false;
  #registered;

  /**
   * @param secret the link's own, which is not sent; null if it has none.
   * @param registered is called with the new account.
   * @param left is called if the user or the service declines, with whether the user has another link.
   */
  constructor(code, secret, registered, left) {
    this.#code = code;
    this.#secret = secret;
    this.#registered = registered;
    find("register").onclick = () => void this.#attempt();
    const leave = (isForAnother) => {
      this.#close();
      left(isForAnother);
    };
    find("registration-again").onclick = () => void this.#open();
    find("registration-another").onclick = () => leave(true);
    find("registration-leave").onclick = () => leave(false);
    void this.#open();
  }

  async #open() {
    find("registration").hidden = false;
    show(find("registration-text"), "Checking the link…");
    for (const id of ["register", "registration-name-field", "registration-again", "registration-another", "registration-leave"]) {
      find(id).hidden = true;
    }
    try {
      this.#link = await get("register/" + encodeURIComponent(this.#code));
      this.#hasLock = await screenLock.isThere();
      this.#offer();
    } catch (error) {
      show(find("registration-text"), sentence(error));
      find("registration-again").hidden = !error.isOutage;
      find("registration-another").hidden = Boolean(error.isOutage);
      find("registration-leave").hidden = false;
      if (!error.isOutage) this.#forget();
    }
    find("registration-title").focus();
  }

  #offer() {
    show(find("registration-text"), "This phone will be asked whenever somebody signs in as:");
    fillFacts(find("registration-facts"), [
      { label: "User", value: this.#link.user },
      { label: "Application", value: this.#link.application },
      { label: "Service", value: base.host },
    ]);
    show(find("registration-lock"), this.#hasLock
      ? "You will be asked to unlock the phone once. Computers can then ask for its screen lock."
      : "This browser does not offer a screen lock: you will approve with a tap.");
    show(find("registration-pin"), this.#secret
      ? null
      : "This link has no secret. Computers that check the phone itself will ask for six words, which you will see here.");
    find("registration-name-field").hidden = false;
    find("registration-name").value ||= usualName();
    find("register").hidden = false;
    find("registration-leave").hidden = false;
  }

  #attempt() {
    return withButtonsOff(find("registration"), async () => {
      complain(null);
      try {
        const account = await this.#register();
        this.#close();
        const lacksLock = this.#hasLock && !account.methods.includes("device");
        const lock = this.#isSynced
          ? " Its screen lock was not added: your administrator does not accept passkeys that are synced to other devices."
          : lacksLock ? " Its screen lock was not added." : "";
        sayForLong(`This is ${account.user}’s phone now.${lock}` + sixWords(await words(account)));
        this.#registered(account);
      } catch (error) {
        complainOf(error);
        if (error.status >= 400 && error.status < 500) this.#forget();
      }
    });
  }

  async #register() {
    const key = await makeKey();
    let credential = this.#hasLock ? await this.#credential(key.publicKey) : null;
    // A browser that cannot keep a key must not use up the link.
    await accounts.put({ device: pending, ...key });
    this.#isSynced = false;
    let reply;
    try {
      reply = await this.#send(key.publicKey, credential);
    } catch (error) {
      if (error.reason !== "SYNCED_PASSKEY") throw error;
      // The link is still good. The phone can be asked for a tap.
      [credential, this.#isSynced] = [null, true];
      reply = await this.#send(key.publicKey, credential);
    }
    const account = {
      device: reply.device, user: reply.user, application: reply.application, origin: base.origin,
      methods: reply.methods ?? ["acceptance"],
      credential: credential && { id: credential.id, public_key: credential.public_key }, ...key,
      agreement: await makeAgreementKey(),
    };
    keepSecret(account.device, this.#secret, this.#code);
    await accounts.put(account);
    await accounts.remove(pending);
    return account;
  }

  async #send(publicKey, credential) {
    const body = {
      code: this.#code, public_key: publicKey, ...(credential && { credential }),
      name: find("registration-name").value.trim() || usualName(),
      ...await pin(this.#secret, this.#code, publicKey, credential),
    };
    return (await post("device/v1/register", body)).json();
  }

  /** Null if the user did not unlock the phone: the screen lock can be added later. */
  async #credential(publicKey) {
    try {
      return await screenLock.create(this.#link.user, this.#link.application, this.#code, publicKey);
    } catch {
      return null;
    }
  }

  #forget() {
    hideCode();
    forgetSecret(this.#code);
  }

  #close() {
    this.#forget();
    find("registration").hidden = true;
  }
}

/** What browsers tell of the phone; the user can call it otherwise. */
function usualName() {
  const systems = [["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android phone"], ["Macintosh", "Mac"], ["Windows", "Windows computer"], ["Linux", "Linux computer"]];
  return systems.find(([word]) => navigator.userAgent.includes(word))?.[1] ?? "phone";
}

/** Apple's engine, which every browser on an iPhone has. */
const isSafari = () => navigator.vendor.startsWith("Apple");
const isOnHomeScreen = () => navigator.standalone === true || matchMedia("(display-mode: standalone)").matches;
/** It asks its user, who need not answer. The others decide by themselves, again each time. */
const asksItsUser = () => navigator.userAgent.includes("Firefox");

/**
 * Has the browser promise to keep this phone's key, and tells the user what may become of it otherwise.
 *
 * @param isNew whether the phone was registered now, and not only opened.
 */
export async function keepKey(isNew) {
  const { storage } = navigator;
  const promise = asksItsUser() && !isNew ? storage?.persisted?.() : storage?.persist?.();
  const isKept = await Promise.resolve(promise).catch(() => false);
  // Safari counts days: "Full Third-Party Cookie Blocking and More", webkit.org/blog/10218.
  show(find("may-forget"), isKept ? null : isSafari() && !isOnHomeScreen()
    ? "Add this page to the home screen (on a Mac: to the Dock) and register it there. Otherwise Safari forgets this phone "
      + "after seven days without a visit."
    : "This browser did not promise to keep this phone’s key, and may forget it once the device is short of space. Leave "
      + "some free.");
}

const sixWords = (text) => text ? ` Its six words: ${text}.` : "";

/**
 * This phone's accounts. A registration that was interrupted is removed. Accounts of an older page get the key by which
 * they approve without a network.
 */
export async function registeredAccounts() {
  const all = await accounts.all();
  if (all.some(({ device }) => device === pending)) await accounts.remove(pending);
  const whole = all.filter(({ device }) => device !== pending);
  const agreed = await Promise.all(whole.map(async (account) => (
    account.agreement ? account : accounts.agree(account.device, await makeAgreementKey()))));
  return agreed.filter(Boolean);
}
