// The requests that wait for an answer, as cards.
import "./shared.js";
import * as screenLock from "./screen-lock.js";
import { DocumentPart, heading } from "./document-part.js";
import { announce, copyOf, dismiss, fillFacts, find, say, sayFailed, shortName, show, withButtonsOff } from "./dom.js";
import { sentence, showFailure } from "./refusals.js";

const { answerStatement, escaped, contextPairs, isCutShort, isForDocument, sendAnswer } = globalThis.iampass;

/** Milliseconds without taps after cards came or went: another card may be under the finger. */
const moving = 600;

const done = {
  approve: "Approved.", deny: "Denied.", not_me: "Denied, and reported as not you.",
  unable: "Answered: this phone does not support it.",
};

/** Refusals that another answer would not change. */
const final = [
  "ALREADY_ANSWERED", "TOO_LATE", "UNKNOWN_REQUEST", "WRONG_CODE", "WRONG_CHALLENGE", "WRONG_CONTEXT", "WRONG_NONCE",
  "DEVICE_CUT_OFF",
];

const title = (request) => (isForDocument(request) ? heading : globalThis.iampass.title(request.context));

const answerElsewhere = ({ approved, phone, context }) =>
  `${title({ context })}: ${approved ? "approved" : "denied"} on ${escaped(phone)}.`;

class RequestCard {
  element = copyOf("request-template");
  #account;
  #request;
  #ended;
  #deadline;
  /** What an administrator is to sign; null for a sign-in. */
  #document = null;

  /** @param ended is called with the answer once the service has taken it, or will not take any. */
  constructor(account, request, ended) {
    this.#account = account;
    this.#request = request;
    this.#ended = ended;
    this.#deadline = performance.now() + request.seconds_left * 1000;
    this.#part("h3").textContent = title(request);
    this.#part(".whose").textContent = `For ${account.user} at ${account.application} · session ${shortName(request.session)}`;
    show(this.#part(".locum"), request.for_another
      ? `You answer for ${escaped(request.context.user ?? "another user")}, who has no phone at hand. Approve only if you know that it is them.`
      : null);
    this.#prepareCode();
    this.#prepareMethod();
    this.#prepareContent();
    this.#part("progress").max = request.seconds_left;
    this.element.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#answer("approve");
    });
    for (const [name, answer] of [[".deny", "deny"], [".not-me", "not_me"], [".unable", "unable"]]) {
      this.#part(name).addEventListener("click", () => void this.#answer(answer));
    }
    this.update(request);
    this.tick();
  }

  get session() {
    return this.#request.session;
  }

  /** For screen readers. */
  get spoken() {
    if (this.#document) return `New request: ${heading}.`;
    const facts = contextPairs(this.#request.context).map(({ label, value }) => `${label} ${value}`).join(", ");
    return `New request: ${title(this.#request)}. ${facts}`;
  }

  update(request) {
    const more = request.blocked > 0 ? `${request.blocked} more held back.` : "";
    show(this.#part(".more-blocked"), more);
  }

  tick() {
    const left = Math.max(0, Math.ceil((this.#deadline - performance.now()) / 1000));
    this.#part("progress").value = left;
    this.#part(".left span").textContent = left > 0 ? `${left} s left` : "too late";
  }

  /** The digits are what the user has to type first. */
  focus() {
    const input = this.#part(".code input");
    (this.#request.match_code ? input : this.#part("h3")).focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  #part(selector) {
    return this.element.querySelector(selector);
  }

  #prepareContent() {
    if (!isForDocument(this.#request)) {
      fillFacts(this.#part("dl"), contextPairs(this.#request.context));
      this.#part(".cut-short").hidden = !isCutShort(this.#request.context);
      return;
    }
    // The service asks for it, and no stranger.
    for (const selector of ["dl", ".not-me", ".approve"]) this.#part(selector).hidden = true;
    const isAble = this.#request.method !== "device" || Boolean(this.#request.credential);
    this.#document = new DocumentPart(this.#part(".document"), this.#account, this.#request, () => {
      this.#part(".approve").hidden = !isAble;
    });
    void this.#document.load();
  }

  #prepareCode() {
    if (!this.#request.match_code) return;
    const field = this.#part(".code");
    const input = field.querySelector("input");
    const label = field.querySelector("label");
    input.id = `code-${this.session}`;
    label.htmlFor = input.id;
    label.textContent = "Type the two digits that the computer shows";
    field.hidden = false;
  }

  #prepareMethod() {
    if (this.#request.method !== "device") return;
    if (this.#request.credential) {
      show(this.#part(".needs"), "To approve, you will be asked to unlock this phone.");
    } else {
      this.#offerUnable("This request needs the phone’s screen lock, which is not registered.");
      this.#part(".approve").hidden = true;
    }
  }

  #offerUnable(why) {
    show(this.#part(".needs"), why);
    this.#part(".unable").hidden = false;
  }

  async #answer(answer) {
    const code = this.#part(".code input").value.trim();
    if (answer === "approve" && this.#request.match_code && !/^[0-9]{2}$/.test(code)) {
      show(this.#part(".failure"), "Type the two digits first. If none of your computers shows them, deny.");
      this.#part(".code input").focus();
      return;
    }
    await withButtonsOff(this.element, () => this.#send(answer, answer === "approve" ? code : ""));
  }

  async #send(answer, code) {
    show(this.#part(".failure"), null);
    try {
      const shown = answer === "approve" && this.#document ? this.#document.signed : null;
      const statement = await answerStatement(this.#account, this.#request, answer, code, shown);
      const assertion = answer === "approve" && this.#request.method === "device" ? await this.#unlock(statement) : null;
      if (shown) await this.#document.remember();
      await sendAnswer(this.#account, statement, assertion);
      say(`${title(this.#request)}: ${done[answer]}`);
      this.#ended(this, answer);
    } catch (error) {
      if (final.includes(error.reason)) {
        sayFailed(sentence(error));
        this.#ended(this, "refused");
      } else {
        showFailure(this.#part(".failure"), error);
      }
    }
  }

  async #unlock(statement) {
    try {
      return await screenLock.assertion(this.#request.credential, statement);
    } catch {
      this.#offerUnable("If this phone cannot be unlocked for this page, tell the computer.");
      throw new Error("the phone was not unlocked. Nothing was approved; try again.");
    }
  }
}

/** All cards, of all accounts. */
export class RequestList {
  #cards = new Map();
  #onNotMe;
  #timer = null;

  /** @param onNotMe is called with the account whose user did not make the request. */
  constructor(onNotMe) {
    this.#onNotMe = onNotMe;
    setInterval(() => this.#each((card) => card.tick()), 1000);
  }

  /** Shows these as the account's open requests. It says which ones another phone answered. */
  update(account, requests, answered = []) {
    const open = new Map(requests.map((request) => [request.session, request]));
    if (requests.some(({ session }) => !this.#cards.has(session))) dismiss();
    this.#each((card, owner) => {
      if (owner !== account.device || open.has(card.session)) return;
      const elsewhere = answered.find(({ session }) => session === card.session);
      if (elsewhere) say(answerElsewhere(elsewhere));
      this.#remove(card);
    });
    for (const request of requests) {
      const known = this.#cards.get(request.session);
      if (known) known.card.update(request);
      else this.#add(account, request);
    }
    this.#refresh();
  }

  forget(account) {
    this.update(account, []);
  }

  /** Brings a request into view, as a notification asks; false if it is not here. */
  focus(session) {
    const known = this.#cards.get(session);
    known?.card.focus();
    return known !== undefined;
  }

  #add(account, request) {
    const card = new RequestCard(account, request, (card, answer) => {
      this.#remove(card);
      this.#refresh();
      find("requests-title").focus();
      if (answer === "not_me") this.#onNotMe(account);
    });
    this.#cards.set(request.session, { card, owner: account.device });
    find("request-list").append(card.element);
    announce(card.spoken);
    // Whoever types or has a button in focus keeps it.
    if (document.activeElement === document.body || document.activeElement === find("requests-title")) card.focus();
    this.#holdTaps();
  }

  #remove(card) {
    const hadFocus = card.element.contains(document.activeElement);
    card.element.remove();
    this.#cards.delete(card.session);
    if (hadFocus) find("requests-title").focus();
    this.#holdTaps();
  }

  #refresh() {
    find("no-requests").hidden = this.#cards.size > 0;
    document.title = this.#cards.size > 0 ? `(${this.#cards.size}) IAMPASS` : "IAMPASS";
  }

  #holdTaps() {
    const list = find("request-list");
    list.classList.add("moving");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => list.classList.remove("moving"), moving);
  }

  #each(work) {
    for (const { card, owner } of [...this.#cards.values()]) work(card, owner);
  }
}
