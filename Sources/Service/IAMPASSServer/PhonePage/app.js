// The page as a whole: the accounts of this phone, and the requests to each.
import "./shared.js";
import { AccountView } from "./account-view.js";
import { forget as forgetDocuments } from "./document-memory.js";
import { complain, find, say, show } from "./dom.js";
import { EventStream } from "./events.js";
import { isOffline, isPageKept, OfflineRequest } from "./offline.js";
import { hideSecret, secretOf } from "./pins.js";
import { codeIn, hideCode, keepKey, lostAccounts, registeredAccounts, Registration } from "./registration.js";
import { complainOf, forgetOutages, sentence } from "./refusals.js";
import { RequestList } from "./requests.js";
import { Ringing } from "./ringing.js";

const { accounts, ask, base } = globalThis.iampass;

/** Milliseconds without the service after which the user is told: a change of the network takes less. */
const patience = 5_000;
/** Milliseconds between two words that the page is in view. */
const lookPause = 60_000;

class PhonePage {
  /** By phone id: `{view, stream, isOpen, isUnknown, toldLook}`. */
  #phones = new Map();
  #requests = new RequestList((account) => this.#offerToEndSessions(account));
  #ringing = new Ringing(() => this.#accounts());
  #offline = new OfflineRequest(() => this.#accounts());
  /** To this browser's other tabs with the page; undefined in a browser without it. */
  #tabs = globalThis.BroadcastChannel && new BroadcastChannel("iampass " + base.pathname);
  /** The timer since when the service is away; null while it is there. */
  #apart = null;

  async start() {
    find("unloaded").remove();
    this.#listen();
    try {
      for (const account of await registeredAccounts()) this.#add(account);
    } catch (error) {
      complain(error.name === "TimeoutError"
        ? "This browser’s storage does not answer. Close its other pages of this service, and load this one again."
        : `This browser cannot store anything for this page, so it cannot be a phone: ${error.message}. `
          + "Leave private browsing, or try another browser.");
      return;
    }
    this.#arrange();
    this.#followAddress();
    if (this.#phones.size > 0) void keepKey(false);
    void this.#takeUpLost();
    await this.#ringing.start();
    await this.#tellWhetherKept();
  }

  /** A phone whose browser has not kept the page can approve nothing without a network, which its user must know. */
  async #tellWhetherKept() {
    show(find("not-kept"), await isPageKept() ? null
      : "This phone has not kept this page, so it cannot approve without a network. Make room on the phone, leave "
        + "private browsing, and open the page again.");
  }

  #accounts() {
    return [...this.#phones.values()].map(({ view }) => view.account);
  }

  #listen() {
    find("another-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const link = find("another-link").value.trim();
      if (isOffline(link)) {
        find("another-link").value = "";
        this.#openOffline(link);
        return;
      }
      const isLink = codeIn(link) !== null;
      show(find("another-problem"), isLink ? null : `This is not a registration link of ${location.host}.`);
      if (isLink) this.#register(link);
    });
    const hurry = () => {
      if (document.visibilityState === "visible") for (const { stream } of this.#phones.values()) stream.hurry();
    };
    document.addEventListener("visibilitychange", hurry);
    document.addEventListener("visibilitychange", () => this.#tellLook());
    window.addEventListener("focus", () => this.#tellLook());
    setInterval(() => this.#tellLook(), lookPause);
    window.addEventListener("online", hurry);
    // A page that the browser keeps for "back" must not hold its connections meanwhile.
    window.addEventListener("pagehide", () => [...this.#phones.values()].forEach(({ stream }) => stream.stop()));
    window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
    window.addEventListener("hashchange", () => this.#followAddress());
    // A worker of an older page does not answer.
    navigator.serviceWorker?.addEventListener("controllerchange", () => void this.#tellWhetherKept());
    navigator.serviceWorker?.addEventListener("message", ({ data }) => {
      if (data?.session) this.#show(data);
    });
    this.#tabs?.addEventListener("message", () => void this.#addOthers());
  }

  /** Shows the request of a notification that was tapped; if it has not come yet, once it comes. */
  #show({ device, session }) {
    history.replaceState(null, "", new URL(`phone/#session=${encodeURIComponent(session)}`, base));
    // Another tab registered it, and this one was not told.
    if (device && !this.#phones.has(device)) location.reload();
    else this.#followHash();
  }

  /** Accounts that another tab registered. */
  async #addOthers() {
    for (const account of await registeredAccounts().catch(() => [])) this.#add(account);
    this.#arrange();
    await this.#ringing.refresh();
  }

  /** For the console. Nothing depends on it, so a failure is left to the next time. */
  #tellLook() {
    if (document.visibilityState !== "visible") return;
    const now = performance.now();
    for (const phone of this.#phones.values()) {
      if (now - phone.toldLook < lookPause) continue;
      phone.toldLook = now;
      ask(phone.view.account, "look", "look").catch(() => {});
    }
  }

  #register(link) {
    let secret;
    complain(null);
    try {
      secret = secretOf(link, codeIn(link));
      hideSecret();
    } catch (error) {
      complain(sentence(error));
      return;
    }
    find("another").hidden = true;
    find("another-link").value = "";
    new Registration(codeIn(link), secret, (account) => {
      this.#addNew(account);
      find("requests-title").focus();
    }, (isForAnother) => {
      this.#arrange();
      if (isForAnother) this.#askForLink();
    });
  }

  /** Phones that the service registered, whose page was left before it was told so. */
  async #takeUpLost() {
    for (const account of await lostAccounts(codeIn(location.href)).catch(() => [])) {
      this.#addNew(account);
      say(`This is ${account.user}’s phone now.`);
    }
  }

  #addNew(account) {
    this.#add(account);
    this.#tabs?.postMessage("registered");
    this.#arrange();
    void this.#ringing.refresh();
    void keepKey(true);
  }

  #askForLink() {
    find("another").querySelector("details").open = true;
    find("another-link").focus();
  }

  /** Does nothing for a phone that is there. */
  #add(account) {
    if (this.#phones.has(account.device)) return;
    const view = new AccountView(account, (ended) => this.#remove(ended));
    const phone = { view, stream: null, isOpen: false, isUnknown: false, toldLook: -lookPause };
    this.#phones.set(account.device, phone);
    find("account-list").append(view.element);
    this.#tellLook();
    phone.stream = new EventStream(account, {
      event: (name, value) => {
        if (name === "status") view.update(value);
        if (name !== "requests") return;
        this.#requests.update(account, value.requests, value.answered);
        void this.#ringing.tidy(account, value.requests);
        this.#followHash();
      },
      state: (state) => {
        phone.isOpen = state === "open";
        phone.isUnknown = state === "unknown";
        view.showUnknown(phone.isUnknown);
        if (phone.isOpen) forgetOutages();
        this.#showConnection();
        if (phone.isOpen) void this.#ringing.catchUp();
      },
      cutOff: () => {
        complain(`This phone is no longer ${account.user}’s at ${account.application}: another phone replaced it, or it `
          + "was reported as lost.");
        void this.#remove(view);
      },
    });
  }

  async #remove(view) {
    const { device } = view.account;
    if (!this.#phones.has(device)) return;
    this.#phones.get(device)?.stream.stop();
    this.#phones.delete(device);
    this.#requests.forget(view.account);
    view.element.remove();
    await accounts.remove(device);
    await forgetDocuments(device).catch(() => {});
    this.#arrange();
    await this.#ringing.refresh();
    find("main").focus();
  }

  #arrange() {
    const hasPhone = this.#phones.size > 0;
    find("welcome").hidden = hasPhone || codeIn(location.href) !== null;
    find("requests").hidden = !hasPhone;
    find("another").hidden = false;
    document.body.classList.toggle("several", this.#phones.size > 1);
    this.#showConnection();
  }

  #showConnection() {
    const phones = [...this.#phones.values()];
    const away = phones.filter(({ isOpen }) => !isOpen).length;
    // The card of a phone that the service does not know tells of that.
    const isApart = phones.some(({ isOpen, isUnknown }) => !isOpen && !isUnknown);
    const text = phones.length === 0 ? "" : away === 0 ? "Connected" : "Connecting…";
    // Setting the same text again would read it out again.
    if (find("connection").textContent !== text) find("connection").textContent = text;
    if (!isApart) {
      clearTimeout(this.#apart);
      this.#apart = null;
      find("apart").hidden = true;
    } else {
      this.#apart ??= setTimeout(() => (find("apart").hidden = false), patience);
    }
  }

  /** A link that is opened again in this tab changes the part behind `#` alone. */
  #followAddress() {
    if (isOffline(location.href)) this.#openOffline(location.href);
    else if (codeIn(location.href)) this.#register(location.href);
    else this.#followHash();
  }

  #openOffline(link) {
    complain(null);
    try {
      this.#offline.open(link);
    } catch (error) {
      complain(error.message);
    }
  }

  /** Follows `#session=ID`, with which a notification opens the page. */
  #followHash() {
    const session = new URLSearchParams(location.hash.slice(1)).get("session");
    if (!session || !this.#requests.focus(session)) return;
    hideCode();
  }

  #offerToEndSessions(account) {
    const view = this.#phones.get(account.device)?.view;
    const count = view?.sessions.length ?? 0;
    const panel = find("blocked");
    show(find("blocked-text"), "Requests from there will not reach you for 15 minutes. " + (count > 0
      ? `${account.user} has ${count} live session${count === 1 ? "" : "s"}. If one of them may be somebody else’s, end them all.`
      : "No live session could be somebody else’s."));
    find("blocked-end").hidden = count === 0;
    find("blocked-keep").textContent = count === 0 ? "Close" : "Keep them";
    const close = (text) => {
      panel.hidden = true;
      if (text) say(text);
      find("requests-title").focus();
    };
    find("blocked-keep").onclick = () => close();
    find("blocked-end").onclick = async () => {
      try {
        await view.end(view.sessions);
        close("All sessions were ended.");
      } catch (error) {
        complainOf(error);
      }
    };
    panel.hidden = false;
    find("blocked-title").focus();
  }
}

void new PhonePage().start();
