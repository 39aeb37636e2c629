// An opened registration link: shows which user the phone will belong to; one tap registers it.
import "./shared.js";
import * as screenLock from "./screen-lock.js";
import { complain, fillFacts, find, sayForLong, show, withButtonsOff } from "./dom.js";
import { forgetSecret, keepSecret, pin, words } from "./pins.js";
import { complainOf, sentence } from "./refusals.js";

const { accounts, base, get, makeAgreementKey, makeKey, post } = globalThis.iampass;

/** Begins the name of a registration whose reply has not come, beside the accounts; its link's code follows. */
const pending = "pending";
const isPending = ({ device }) => device.startsWith(pending);

/** Whether the service itself refused, and would again. A limit ends, and an error page may be a proxy's. */
const isFinal = ({ status, reason }) => status >= 400 && status < 500 && status !== 429 && !reason.startsWith("HTTP_");

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
      const begun = await takeUp(this.#code);
      if (begun) return await this.#finish(begun);
      this.#link = await look(this.#code);
      this.#hasLock = await screenLock.isThere();
      this.#offer();
    } catch (error) {
      show(find("registration-text"), sentence(error));
      find("registration-again").hidden = isFinal(error);
      find("registration-another").hidden = !isFinal(error);
      find("registration-leave").hidden = false;
      if (isFinal(error)) this.#forget();
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
        await this.#finish(await this.#register());
      } catch (error) {
        complainOf(error);
        if (isFinal(error)) this.#forget();
      }
    });
  }

  async #finish(account) {
    keepSecret(account.device, this.#secret, this.#code);
    this.#close();
    const lacksLock = this.#hasLock && !account.methods.includes("device");
    const lock = this.#isSynced
      ? " Its screen lock was not added: your administrator does not accept passkeys that are synced to other devices."
      : lacksLock ? " Its screen lock was not added." : "";
    sayForLong(`This is ${account.user}’s phone now.${lock}` + sixWords(await words(account)));
    this.#registered(account);
  }

  /** A tap after a lost reply repeats what was sent: the service may have taken that key, and takes no other. */
  async #register() {
    const begun = await accounts.get(pending + this.#code) ?? await this.#begin();
    try {
      return await send(begun);
    } catch (error) {
      if (error.reason !== "SYNCED_PASSKEY") throw error;
      // The link is still good. The phone can be asked for a tap.
      this.#isSynced = true;
      return send(await this.#keep(begun, null));
    }
  }

  async #begin() {
    const key = await makeKey();
    return this.#keep(key, this.#hasLock ? await this.#credential(key.publicKey) : null);
  }

  /** Keeps what is to be sent. A browser that cannot keep a key must not use up the link. */
  async #keep({ privateKey, publicKey }, credential) {
    const body = {
      code: this.#code, public_key: publicKey, ...(credential && { credential }),
      name: find("registration-name").value.trim() || usualName(),
      ...await pin(this.#secret, this.#code, publicKey, credential),
    };
    const begun = { device: pending + this.#code, privateKey, publicKey, body };
    await accounts.put(begun);
    return begun;
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

const look = (code) => get("register/" + encodeURIComponent(code));

/** Registers a phone, also a second time: the service gives the same keys the same reply. Gives the stored account. */
async function send({ device: name, privateKey, publicKey, body }) {
  try {
    const reply = await (await post("device/v1/register", body)).json();
    const { credential = null } = body;
    const fresh = {
      device: reply.device, user: reply.user, application: reply.application, origin: base.origin,
      methods: reply.methods ?? ["acceptance"],
      credential: credential && { id: credential.id, public_key: credential.public_key }, privateKey, publicKey,
      agreement: await makeAgreementKey(),
    };
    // Another tab may have taken it up, too, and given it a key for agreement.
    const account = await accounts.change(fresh.device, (known) => known ?? fresh);
    await accounts.remove(name);
    return account;
  } catch (error) {
    if (isFinal(error)) await accounts.remove(name);
    throw error;
  }
}

/**
 * The account of a registration by the link with this code whose reply was lost; null if there is none. The link is used
 * by then: nothing is registered here that the service has not registered.
 */
async function takeUp(code) {
  const begun = await accounts.get(pending + code);
  if (!begun) return null;
  try {
    await look(code);
    return null;
  } catch (error) {
    if (error.reason === "LINK_USED") return send(begun);
    if (isFinal(error)) await accounts.remove(begun.device);
    throw error;
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

/** This phone's accounts. Those of an older page get the key by which they approve without a network. */
export async function registeredAccounts() {
  const whole = (await accounts.all()).filter((account) => !isPending(account));
  const agreed = await Promise.all(whole.map(async (account) => {
    if (account.agreement) return account;
    const agreement = await makeAgreementKey();
    // Whichever of several tabs gave it first.
    return accounts.change(account.device, (stored) => stored && { ...stored, agreement: stored.agreement ?? agreement });
  }));
  return agreed.filter(Boolean);
}

/**
 * The accounts of registrations whose reply was lost as their page was left, as far as the service can be asked.
 *
 * @param current the code of the link that this page shows, which is taken up there
 */
export async function lostAccounts(current) {
  const found = [];
  for (const { device, body } of (await accounts.all()).filter(isPending)) {
    // An older page kept a key alone.
    if (!body) await accounts.remove(device);
    else if (body.code !== current) found.push(await takeUp(body.code).catch(() => null));
  }
  return found.filter(Boolean);
}
