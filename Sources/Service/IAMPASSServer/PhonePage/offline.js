// Approving a sign-in on a computer without a network: the link's question, and the digits that answer it. Nothing here
// needs the service.
import "./shared.js";
import * as screenLock from "./screen-lock.js";
import { fillFacts, find, say, show, withButtonsOff } from "./dom.js";
import { activeWorker } from "./ringing.js";

const {
  agreementAlgorithm, base, base64url, canonicalBytes, contextPairs, fromBase64url, isCutShort, text, title,
} = globalThis.iampass;

/** What begins the part of such a link that browsers do not send. */
const fragment = "#offline=";
/** Bytes of an uncompressed point, and of the computer's random challenge. */
const pointSize = 65;
const nonceSize = 16;
/** As SignInContext has them: pairs, with the three of a long command; characters of a value. */
const greatestPairs = 13;
const greatestValue = 1_000;
/** Seconds for which the computer takes the digits. */
const lifetime = 120;
const digitCount = 8;

/** The bytes of a base64url text in its one spelling; throws for any other. */
function bytesOf(encoded) {
  const bytes = fromBase64url(encoded);
  if (!/^[\w-]+$/.test(encoded) || base64url(bytes) !== encoded) throw new Error("not base64url");
  return bytes;
}

/** Whether a link asks something of this page without a network. */
export const isOffline = (link) => link.includes(fragment);

/** The link's question. Throws if it is not whole: what is shown is what the digits are made of. */
export function questionIn(link) {
  try {
    const [address, rest] = [link.slice(0, link.indexOf(fragment)), link.slice(link.indexOf(fragment) + fragment.length)];
    if (new URL(address).href !== new URL("phone/", base).href) throw new Error("another service");
    const [key, challenge, time, method, shown, ...more] = rest.split(".");
    const context = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(shown)));
    const values = Object.values(context);
    const isFit = more.length === 0 && bytesOf(key).length === pointSize && bytesOf(challenge).length === nonceSize
      && /^(0|[1-9]\d{0,11})$/.test(time) && ["acceptance", "device"].includes(method)
      && !Array.isArray(context) && values.length <= greatestPairs
      && values.every((value) => typeof value === "string" && Array.from(value).length <= greatestValue)
      && base64url(canonicalBytes(context)) === shown;
    if (!isFit) throw new Error("malformed");
    return { computer: bytesOf(key), challenge, time: Number(time), method, context };
  } catch {
    throw new Error("The link is not whole, or is not of this service. Scan or copy it again.");
  }
}

/** The statement that the digits are made of, and that the screen lock signs. */
const statementOf = ({ challenge, time, method, context }, origin = base.origin) => (
  { purpose: "offline", origin, challenge, time, method, context });

/** HMAC-SHA-256 under the secret of this phone and that computer, truncated as RFC 4226 truncates (OfflineDigits). */
export async function digitsFor(account, question, origin = base.origin) {
  const peer = await crypto.subtle.importKey("raw", question.computer, agreementAlgorithm, false, []);
  const agreed = await crypto.subtle.deriveBits({ name: "ECDH", public: peer }, account.agreement.privateKey, 256);
  const root = await crypto.subtle.importKey("raw", agreed, "HKDF", false, ["deriveBits"]);
  const own = Uint8Array.from(atob(account.agreement.publicKey), (letter) => letter.charCodeAt(0)).slice(-pointSize);
  const info = new Uint8Array([...question.computer, ...own]);
  const secret = await crypto.subtle.deriveBits(
    { name: "HKDF", hash: "SHA-256", salt: text.encode("iampass offline 1"), info }, root, 256);
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const code = new DataView(await crypto.subtle.sign("HMAC", key, canonicalBytes(statementOf(question, origin))));
  const number = code.getUint32(code.getUint8(31) & 15) & 0x7fffffff;
  return String(number % 10 ** digitCount).padStart(digitCount, "0");
}

/** Whether this browser has kept the page, as its service worker says. It may take until the worker has begun. */
export async function isPageKept(patience = 30_000) {
  if (!("serviceWorker" in navigator)) return false;
  const late = new Promise((resolve) => setTimeout(resolve, patience, false));
  const asked = async () => {
    const active = await activeWorker();
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data.kept); });
    active.postMessage({ isKept: true }, [port2]);
    return answer;
  };
  return Promise.race([asked().catch(() => false), late]);
}

/** How long ago the computer asked, by both clocks; they may differ. */
function ageOf({ time }) {
  const age = Math.round(Date.now() / 1000) - time;
  const asked = new Date(time * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
  const words = Math.abs(age) <= lifetime ? "" : age > 0
    ? " That is more than two minutes ago: somebody may have kept the link, or a clock is wrong."
    : " That is in the future: a clock is wrong.";
  return { asked, warning: words };
}

/** The one question that the page shows. */
export class OfflineRequest {
  #accounts;
  #question = null;
  #timer = null;

  /** @param current gives this phone's accounts at any time. */
  constructor(current) {
    this.#accounts = current;
    find("offline-approve").addEventListener("click", () => void this.#approve());
    find("offline-deny").addEventListener("click", () => this.#close("Denied. The computer gets no digits."));
    find("offline-done").addEventListener("click", () => this.#close());
  }

  /** Shows the link's question. Throws if it cannot be answered here. */
  open(link) {
    const question = questionIn(link);
    const accounts = this.#accounts().filter(({ agreement }) => agreement);
    if (accounts.length === 0) throw new Error("This phone is not registered here, so it cannot approve.");
    this.#question = question;
    const { asked, warning } = ageOf(question);
    const whose = find("offline-account");
    whose.replaceChildren(...accounts.map(({ user, application, device }) => new Option(`${user} at ${application}`, device)));
    find("offline-accounts").hidden = accounts.length === 1;
    show(find("offline-whose"), accounts.length === 1 ? `For ${accounts[0].user} at ${accounts[0].application}` : null);
    find("offline-heading").textContent = title(question.context);
    fillFacts(find("offline-facts"), [...contextPairs(question.context), { label: "Asked", value: asked }]);
    find("offline-cut-short").hidden = !isCutShort(question.context);
    show(find("offline-warning"), warning.trim());
    const needsLock = accounts.some((account) => this.#needsLock(account));
    show(find("offline-needs"), needsLock ? "To approve, you will be asked to unlock this phone." : null);
    show(find("offline-problem"), null);
    this.#showDigits(null);
    find("offline").hidden = false;
    find("offline-title").focus();
  }

  /** A phone that has a screen lock is unlocked, whatever the computer asks for. */
  #needsLock(account) {
    return this.#question.method === "device" || Boolean(account.credential);
  }

  async #approve() {
    const question = this.#question;
    const account = this.#accounts().find(({ device }) => device === find("offline-account").value);
    if (!question || !account) return;
    await withButtonsOff(find("offline"), async () => {
      show(find("offline-problem"), null);
      try {
        if (this.#needsLock(account)) await this.#unlock(account, question);
        const digits = await digitsFor(account, question);
        // Another link may have been opened meanwhile.
        if (question === this.#question) this.#showDigits(digits);
      } catch (error) {
        show(find("offline-problem"), `Not approved: ${error.message}`);
      }
    });
    if (!find("offline-digits").hidden) find("offline-done").focus();
  }

  async #unlock(account, question) {
    if (!account.credential) throw new Error("the computer asks for this phone’s screen lock, which is not registered.");
    try {
      await screenLock.assertion(account.credential.id, statementOf(question));
    } catch {
      throw new Error("the phone was not unlocked. Try again.");
    }
  }

  #showDigits(digits) {
    clearTimeout(this.#timer);
    const isShown = digits !== null;
    show(find("offline-digits"), isShown ? `${digits.slice(0, 4)} ${digits.slice(4)}` : null);
    show(find("offline-how"), isShown
      ? "Type these digits on the computer, within two minutes. They serve for this sign-in alone. Tell them to nobody." : null);
    find("offline-choice").hidden = isShown;
    find("offline-end").hidden = !isShown;
    if (isShown) this.#timer = setTimeout(() => this.#close("The two minutes for the digits are over."), lifetime * 1000);
  }

  #close(words) {
    this.#question = null;
    this.#showDigits(null);
    find("offline").hidden = true;
    if (isOffline(location.href)) history.replaceState(null, "", location.pathname);
    if (words) say(words);
    find("main").focus();
  }
}
