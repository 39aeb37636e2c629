// One account of this phone: its live sessions, its presence, and its end.
import "./shared.js";
import * as screenLock from "./screen-lock.js";
import { copyOf, isSure, moment, say, show, withButtonsOff } from "./dom.js";
import { laterPin, words } from "./pins.js";
import { sentence } from "./refusals.js";

const { accounts, ask, escaped, title } = globalThis.iampass;

/** Sessions that one call may end. */
const mostEnded = 50;

/** Whether some of the sessions go on, and whether some have left. */
function statuses(sessions) {
  const has = (word) => sessions.some(({ session_status }) => session_status === word);
  return { goOn: has("active"), haveLeft: has("walkaway") };
}

/** Whether the user stays signed in after leaving. An older service does not say. */
const staysSignedIn = ({ walkaway }) => walkaway === false;

export class AccountView {
  element = copyOf("account-template");
  account;
  #ended;
  #sessions = [];

  /** @param ended is called once this browser is not a phone of this account any more. */
  constructor(account, ended) {
    this.account = account;
    this.#ended = ended;
    const heading = this.#part("h2");
    heading.textContent = `${account.user} at ${account.application}`;
    heading.id = `account-${account.device}`;
    this.element.setAttribute("aria-labelledby", heading.id);
    this.#on(".leave", () => this.#move("leave", (status) => this.#farewell(status)));
    this.#on(".return", () => this.#move("return", () => "Welcome back."));
    this.#on(".unregister", () => this.#unregister());
    this.#on(".add-lock", () => this.#addLock());
    void this.#showMethods(account.methods);
  }

  get sessions() {
    return this.#sessions;
  }

  /** What the service says of this account. */
  update(status) {
    const isAway = status.presence === "away";
    const { goOn, haveLeft } = statuses(status.sessions);
    this.#part(".presence").textContent = [
      isAway ? "You are away." : "You are here.",
      haveLeft ? `Sessions marked “away” are signed out${goOn ? ", the others go on" : ""}.`
        : isAway && goOn ? "Your sessions go on." : null,
    ].filter(Boolean).join(" ");
    // The user can leave again if a session was approved after the first time.
    this.#part(".leave").hidden = staysSignedIn(status) || (isAway && !goOn);
    this.#part(".return").hidden = !isAway && !haveLeft;
    show(this.#part(".stays"), staysSignedIn(status)
      ? `At ${status.application}, leaving does not sign you out. Log out of each session instead.` : null);
    this.#showSessions(status.sessions);
    void this.#showTraining(status.training_required ?? []);
    if (status.methods) void this.#showMethods(status.methods);
  }

  /** Ends these of the user's sessions. */
  async end(sessions) {
    for (let start = 0; start < sessions.length; start += mostEnded) {
      const ids = sessions.slice(start, start + mostEnded).map(({ session }) => session);
      this.update(await ask(this.account, "end", "end", { sessions: ids }));
    }
  }

  #part(selector) {
    return this.element.querySelector(selector);
  }

  /** Runs `work` at a tap, shows what goes wrong with it, and focuses what it returns, if anything. */
  #on(selector, work) {
    this.#part(selector).addEventListener("click", () => void this.#attempt(work));
  }

  async #attempt(work) {
    let next = null;
    await withButtonsOff(this.element, async () => {
      show(this.#part(".problem"), null);
      try {
        next = await work();
      } catch (error) {
        show(this.#part(".problem"), sentence(error));
      }
    });
    // Only now: a disabled button does not take the focus.
    next?.focus();
  }

  async #move(purpose, words) {
    const status = await ask(this.account, "presence", purpose, { known: [] });
    this.update(status);
    say(words(status));
    const next = this.#part(purpose === "leave" ? ".return" : ".leave");
    return next.hidden ? this.#part("summary") : next;
  }

  #farewell(status) {
    // The page may have shown an older setting.
    if (staysSignedIn(status)) return `You have left, but at ${status.application} that does not sign you out.`;
    return statuses(status.sessions).haveLeft ? "You have left: your computers sign you out." : "You have left.";
  }

  #showSessions(sessions) {
    this.#sessions = sessions;
    const list = this.#part(".sessions");
    const focused = [...list.children].find((item) => item.contains(document.activeElement))?.dataset.session;
    list.replaceChildren(...sessions.map((session) => this.#sessionItem(session)));
    this.#part(".no-sessions").hidden = sessions.length > 0;
    const again = [...list.children].find((item) => item.dataset.session === focused);
    again?.querySelector("button").focus();
  }

  #sessionItem(session) {
    const item = copyOf("session-template");
    const name = title(session.context);
    item.dataset.session = session.session;
    item.querySelector("strong").textContent = name;
    item.querySelector("span").textContent = [
      session.session_status === "walkaway" ? "away" : null,
      session.context.user === undefined ? null : escaped(session.context.user),
      session.context.remote_host === undefined ? null : `from ${escaped(session.context.remote_host)}`, `since ${moment(session.since)}`,
    ].filter(Boolean).join(" · ");
    const button = item.querySelector("button");
    button.setAttribute("aria-label", `Log out ${name}`);
    button.addEventListener("click", () => void this.#attempt(async () => {
      await this.end([session]);
      say(`Logged out: ${name}.`);
    }));
    return item;
  }

  async #showMethods(methods) {
    const hasLock = methods?.includes("device");
    this.#part(".methods").textContent = hasLock
      ? "Answers by tap, and by screen lock if a computer asks for it." : "Answers by tap.";
    this.#part(".add-lock").hidden = hasLock || !(await screenLock.isThere());
    if (methods && String(methods) !== String(this.account.methods)) {
      this.account.methods = methods;
      await accounts.put(this.account);
    }
    const text = await words(this.account);
    show(this.#part(".words"), text && `Six words, by which a computer’s administrator recognizes this phone: ${text}.`);
  }

  /** What a computer asked for and this phone lacks. An older service does not say. */
  async #showTraining(methods) {
    if (!methods.includes("device")) {
      show(this.#part(".training"), null);
      return;
    }
    const asked = "A computer asked for the phone’s screen lock, which is not registered, so it did not ask you.";
    if (!(await screenLock.isThere())) {
      show(this.#part(".training"), `${asked} This browser does not offer one.`);
      return;
    }
    show(this.#part(".training"), `${asked} Add the screen lock under “This phone”, and sign in again.`);
  }

  async #addLock() {
    const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { user, application, publicKey } = this.account;
    const credential = await screenLock.create(user, application, nonce, publicKey);
    const pin = await laterPin(this.account.device, publicKey, credential);
    const status = await ask(this.account, "credential", "credential", { nonce, credential, ...pin });
    this.account.credential = { id: credential.id, public_key: credential.public_key };
    await accounts.put(this.account);
    this.update(status);
    say(`The screen lock was added. This phone’s six words are now: ${await words(this.account)}.`);
  }

  async #unregister() {
    const sure = await isSure(
      `Unregister ${this.account.user}?`,
      "This phone will not be asked any more. To sign in by phone again, you need a new registration link.", "Unregister");
    if (!sure) return;
    try {
      await ask(this.account, "unregister", "unregister", { known: [] });
    } catch (error) {
      // A phone that the service does not know is already unregistered.
      if (!["DEVICE_CUT_OFF", "UNKNOWN_DEVICE"].includes(error.reason)) throw error;
    }
    say(`This phone is no longer ${this.account.user}’s.`);
    await this.#ended(this);
  }
}
