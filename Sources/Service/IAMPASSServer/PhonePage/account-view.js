// One account of this phone: its live sessions, its presence, and its end.
import "./shared.js";
import * as screenLock from "./screen-lock.js";
import { complain, copyOf, isSure, moment, say, sayForLong, shortName, show, withButtonsOff } from "./dom.js";
import { laterPin, words } from "./pins.js";
import { showFailure } from "./refusals.js";

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
    this.#on(".leave", () => this.#leave());
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
    this.#showCodesUsed(status.codes_used ?? []);
    void this.#showPhones(status.phones ?? []);
    const helped = (status.by_locums ?? []).map(({ name, at, context }) => `${escaped(name)} approved for you at ${moment(at)}: ${title(context)}.`);
    show(this.#part(".helped"), helped.join(" "));
    if (status.methods) void this.#showMethods(status.methods);
  }

  /** Whether the service says that it does not know this phone. That alone never ends the account. */
  showUnknown(isUnknown) {
    const text = isUnknown
      ? "The service does not know this phone at the moment, so no request comes to it. The phone keeps its key, and asks "
        + "again by itself. If this lasts, tell your administrator."
      : null;
    // Setting the same text again would read it out again.
    if (this.#part(".unknown").textContent !== (text ?? "")) show(this.#part(".unknown"), text);
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
        showFailure(this.#part(".problem"), error);
      }
    });
    // Only now: a disabled button does not take the focus.
    next?.focus();
  }

  async #leave() {
    const count = this.#sessions.filter(({ session_status }) => session_status === "active").length;
    // The page may not have heard of the latest one.
    const sessions = count === 0 ? "any live session" : count === 1 ? "a live session" : `${count} live sessions`;
    const sure = await isSure(`Leave as ${this.account.user}?`, `Your computers then sign you out of ${sessions}.`, "Leave");
    return sure ? this.#move("leave", (status) => this.#farewell(status)) : this.#part(".leave");
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
      session.context.remote_host === undefined ? null : `from ${escaped(session.context.remote_host)}`,
      session.approved_on === undefined ? null : `approved on ${escaped(session.approved_on)}`, `since ${moment(session.since)}`,
      `session ${shortName(session.session)}`,
    ].filter(Boolean).join(" · ");
    const button = item.querySelector("button");
    button.setAttribute("aria-label", `Log out ${name}`);
    button.addEventListener("click", () => void this.#attempt(async () => {
      if (!(await isSure(`Log out: ${name}?`, "What is open there and not saved is lost.", "Log out"))) return;
      await this.end([session]);
      say(`Logged out: ${name}.`);
    }));
    return item;
  }

  /** The user's phones, if there are several; and one that came since, which the user must know of. */
  async #showPhones(phones) {
    const others = phones.filter((phone) => !phone.this);
    const name = ({ name, since }) => `${escaped(name)} (since ${moment(since)})`;
    const own = phones.find((phone) => phone.this);
    show(this.#part(".phones"), others.length > 0
      ? `You have another phone: ${others.map(name).join(", ")}. This one is ${escaped(own?.name ?? "")}. Both are asked, and the first answer counts.`
      : null);
    const known = this.account.others;
    const told = others.map(({ name, since }) => `${since} ${name}`);
    if (String(known) === String(told)) return;
    const fresh = others.filter((phone, index) => known && !known.includes(told[index]));
    await this.#keep(() => ({ others: told }));
    if (fresh.length > 0) {
      complain(`Another phone was registered for ${this.account.user}: ${fresh.map(name).join(", ")}. If it is not yours, tell your administrator.`);
    }
  }

  async #showMethods(methods) {
    const hasLock = methods?.includes("device");
    this.#part(".methods").textContent = hasLock
      ? "Answers by tap, and by screen lock if a computer asks for it." : "Answers by tap.";
    this.#part(".add-lock").hidden = hasLock || !(await screenLock.isThere());
    const lacksCredential = hasLock && !this.account.credential;
    if (methods && (lacksCredential || String(methods) !== String(this.account.methods))) {
      // The service has what was offered to it, though its reply was lost.
      await this.#keep(({ credential, offered }) => ({ methods, credential: credential ?? (hasLock && offered || null) }));
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

  /** Sign-ins by codes, which computers report once they reach the service. An older service does not say. */
  #showCodesUsed(uses) {
    const lines = uses.map(({ way, context, used_at: time, left }) => [
      title(context), way === "phone" ? "by this phone without network" : "by a recovery code", context.remote_host === undefined ? null : `from ${escaped(context.remote_host)}`, moment(time),
      left === undefined ? null : `${left} left`,
    ].filter(Boolean).join(" · "));
    const open = uses.filter((use) => use.open);
    show(this.#part(".codes-used"), lines.length === 0 ? null
      : `Signed in while the phone could not be asked: ${lines.join("; ")}. If that was not you, tell your administrator.`
        + (open.length > 0 ? " Still signed in there. Was that you?" : ""));
    const list = this.#part(".open-uses");
    list.hidden = open.length === 0;
    list.replaceChildren(...open.map((use) => this.#useItem(use)));
  }

  /** A session that a code opened: "Not me" has its computer end it. */
  #useItem({ use, context, used_at: time }) {
    const item = copyOf("use-template");
    const name = title(context);
    item.querySelector("strong").textContent = name;
    item.querySelector("span").textContent = `since ${moment(time)}`;
    const button = item.querySelector("button");
    button.setAttribute("aria-label", `Not me: ${name}`);
    button.addEventListener("click", () => void this.#attempt(async () => {
      await this.end([{ session: use }]);
      say(`Will be logged out within a minute: ${name}. Tell your administrator.`);
    }));
    return item;
  }

  /** Stores the members that `change` makes of the stored account. Other tabs may have changed the others meanwhile. */
  async #keep(change) {
    const kept = await accounts.change(this.account.device, (stored) => stored && { ...stored, ...change(stored) });
    // Another tab may have ended the account.
    Object.assign(this.account, kept ?? change(this.account));
  }

  async #addLock() {
    const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { user, application, publicKey } = this.account;
    const credential = await screenLock.create(user, application, nonce, publicKey);
    const pin = await laterPin(this.account.device, publicKey, credential);
    const offered = { id: credential.id, public_key: credential.public_key };
    await this.#keep(() => ({ offered }));
    const status = await ask(this.account, "credential", "credential", { nonce, credential, ...pin });
    await this.#keep(() => ({ credential: offered, offered: null }));
    this.update(status);
    sayForLong(`The screen lock was added. This phone’s six words are now: ${await words(this.account)}.`);
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
