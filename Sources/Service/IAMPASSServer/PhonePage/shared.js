// What the page and its service worker share: this phone's accounts and keys, and signed calls to the service.
//
// The page loads this as a module, the service worker by importScripts, since not every browser has module workers: so
// it exports nothing, and leaves one object.
"use strict";

globalThis.iampass = (() => {
  /** The service's address; the page is at phone/ or register/CODE below it, the worker at phone/ too. */
  const base = new URL("../", globalThis.location.href);
  const text = new TextEncoder();

  // --- Bytes ---

  function base64(buffer) {
    return btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""));
  }

  function base64url(buffer) {
    return base64(buffer).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  function fromBase64url(encoded) {
    return Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  }

  function hexadecimal(buffer) {
    return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  const sha256 = (bytes) => crypto.subtle.digest("SHA-256", bytes);

  /** The text that is signed: members sorted by name (RFC 8785 for ASCII names, strings and whole numbers). */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
    return `{${members.join(",")}}`;
  }

  const canonicalBytes = (value) => text.encode(canonical(value));

  // --- Accounts, each with a key that never leaves this browser ---

  const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
  const agreementAlgorithm = { name: "ECDH", namedCurve: "P-256" };
  const signing = { name: "ECDSA", hash: "SHA-256" };

  /** Milliseconds in which the browser's storage has to answer before it is asked again, and how often it is asked. */
  const storagePatience = 4_000, storageTries = 3;

  /** Safari has left a first opening without an answer, and so does whoever deletes what another page has open. */
  function database() {
    return new Promise((resolve, reject) => {
      let tries = 0, timer = null, isSettled = false;
      const settle = (end, result) => {
        isSettled = true;
        clearTimeout(timer);
        end(result);
      };
      const open = () => {
        if (++tries > storageTries) return settle(reject, new DOMException("no answer", "TimeoutError"));
        timer = setTimeout(open, storagePatience);
        const opening = indexedDB.open("iampass " + base.pathname, 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore("accounts", { keyPath: "device" });
        opening.onsuccess = () => (isSettled ? opening.result.close() : settle(resolve, opening.result));
        opening.onerror = () => isSettled || settle(reject, opening.error);
      };
      open();
    });
  }

  /** The result of one request, once it is on disk. */
  async function stored(mode, work) {
    const opened = await database();
    try {
      return await new Promise((resolve, reject) => {
        const transaction = opened.transaction("accounts", mode);
        const request = work(transaction.objectStore("accounts"));
        transaction.oncomplete = () => resolve(request.result);
        transaction.onerror = transaction.onabort = () => reject(transaction.error ?? request.error);
      });
    } finally {
      opened.close();
    }
  }

  const accounts = {
    all: () => stored("readonly", (store) => store.getAll()),
    get: (device) => stored("readonly", (store) => store.get(device)),
    put: (account) => stored("readwrite", (store) => store.put(account)),
    remove: (device) => stored("readwrite", (store) => store.delete(device)),
    /** Stores what `change` makes of the account, or of undefined, in one step: other tabs change accounts, too. */
    change: async (device, change) => {
      let changed;
      await stored("readwrite", (store) => {
        const reading = store.get(device);
        reading.onsuccess = () => (changed = change(reading.result)) && store.put(changed);
        return reading;
      });
      return changed;
    },
  };

  /** A key pair whose private key scripts cannot read, ours included. */
  async function makeKey() {
    const pair = await crypto.subtle.generateKey(keyAlgorithm, false, ["sign"]);
    return { privateKey: pair.privateKey, publicKey: base64(await crypto.subtle.exportKey("spki", pair.publicKey)) };
  }

  /** The second key pair, by which this phone approves without a network. */
  async function makeAgreementKey() {
    const pair = await crypto.subtle.generateKey(agreementAlgorithm, false, ["deriveBits"]);
    return { privateKey: pair.privateKey, publicKey: base64(await crypto.subtle.exportKey("spki", pair.publicKey)) };
  }

  // --- Calls ---

  /** The service refuses, or it does not work (`status` 0 or 5xx). */
  class Refusal extends Error {
    constructor(status, reason) {
      super(reason);
      this.status = status;
      this.reason = reason;
    }

    get isOutage() {
      return this.status === 0 || this.status >= 500;
    }
  }

  /** The service's clock minus this phone's, in seconds, so that a phone with a wrong clock can sign. */
  let clockOffset = 0;

  function learnClock(response) {
    const date = Date.parse(response.headers.get("Date") ?? "");
    if (!Number.isNaN(date)) clockOffset = Math.round((date - Date.now()) / 1000);
  }

  async function send(path, options) {
    let response;
    try {
      response = await fetch(new URL(path, base), {
        credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer", ...options,
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refusal(0, "UNREACHABLE");
    }
    if (response.ok) return response;
    const reply = await response.json().catch(() => ({}));
    if (reply.reason === "TIMESTAMP_OUTSIDE_WINDOW") learnClock(response);
    throw new Refusal(response.status, String(reply.reason ?? `HTTP_${response.status}`));
  }

  const get = async (path) => (await send(path, { headers: { Accept: "application/json" } })).json();

  function post(path, body, options = {}) {
    return send(path, {
      method: "POST", body: JSON.stringify(body), ...options,
      headers: { "Content-Type": "application/json", Accept: "application/json", ...options.headers },
    });
  }

  async function signed(account, statement, more = {}) {
    const signature = await crypto.subtle.sign(signing, account.privateKey, canonicalBytes(statement));
    return { statement, signature: base64(signature), ...more };
  }

  /** "I, this phone, ask this service for this, now, once." The response, whole. */
  async function askFor(account, path, purpose, members = {}, options = {}) {
    const once = async () => {
      const statement = {
        origin: base.origin, device: account.device, purpose,
        timestamp: Math.floor(Date.now() / 1000) + clockOffset,
        nonce: hexadecimal(crypto.getRandomValues(new Uint8Array(16))), ...members,
      };
      return post("device/v1/" + path, await signed(account, statement), options);
    };
    try {
      return await once();
    } catch (error) {
      if (error.reason !== "TIMESTAMP_OUTSIDE_WINDOW") throw error;
      return once();
    }
  }

  const ask = async (...words) => (await askFor(...words)).json();

  /** The length of a challenge, in bytes. */
  const challengeSize = 32;

  /** The request's challenge as a member of the statement, if it has one. Throws for anything that is not a challenge. */
  function challengeOf({ challenge }) {
    if (challenge === undefined || challenge === null) return {};
    const isText = typeof challenge === "string" && /^[A-Za-z0-9+/]{43}=$/.test(challenge);
    if (!isText || atob(challenge).length !== challengeSize || btoa(atob(challenge)) !== challenge) {
      throw new Error("the request’s challenge is invalid. Nothing was answered. Ask your administrator.");
    }
    return { challenge };
  }

  /** Only a computer that verifies the answer has a use for the key. */
  const agreementOf = (account, { challenge }) => (
    challenge && account.agreement ? { agreement_key: account.agreement.publicKey } : {});

  /** The service name of a request for a document (SignedDocument.serviceName). No sign-in has it. */
  const documentService = "iampass-document";

  /** Whether an administrator is asked to sign a document, by the request's member or by the name that stands for one. */
  const isForDocument = ({ document, context }) => (
    (document ?? null) !== null || context.service === documentService);

  /**
   * The digest of the document that this phone showed, as a member of an approval. Throws if the request asks for a
   * document and none was shown, or another one: so nothing else of this page can approve such a request.
   */
  function documentOf(request, answer, shown) {
    if (answer !== "approve") return {};
    if (isForDocument(request) !== Boolean(shown) || (shown && shown.challenge !== request.challenge)) {
      throw new Error("this page did not show what is to be signed. Nothing was signed.");
    }
    return shown ? { document: shown.digest } : {};
  }

  /**
   * What the answer to a request says, to be signed.
   *
   * @param shown what review.js made of the request's document, if it has one
   */
  async function answerStatement(account, request, answer, code = "", shown = null) {
    return {
      origin: base.origin, device: account.device, session: request.session, answer,
      context_hash: hexadecimal(await sha256(canonicalBytes(request.context))), nonce: request.nonce,
      expires: request.expires, purpose: "answer", method: request.method ?? "acceptance", code,
      ...challengeOf(request), ...agreementOf(account, request), ...documentOf(request, answer, shown),
    };
  }

  async function sendAnswer(account, statement, assertion) {
    const body = await signed(account, statement, assertion ? { assertion } : {});
    return (await post("device/v1/answer", body)).json();
  }

  // --- Words for requests, on cards and notifications ---

  const contextNames = {
    host: "Computer", service: "Service", user: "User", asked_by: "Asked by", match_code: "Digits",
    tty: "Terminal", remote_host: "From",
    command: "Command", command_end: "Command’s end", command_length: "Command’s length", command_sha256: "Command’s SHA-256",
  };

  const isOwn = (name) => Object.hasOwn(contextNames, name);

  /** Only our own words are labels. Any other pair is labelled by its name, in quotes. */
  function labelOf(name, context) {
    if (name === "command" && isCutShort(context)) return "Command’s beginning";
    return isOwn(name) ? contextNames[name] : `“${escaped(name)}”`;
  }

  /** A command that is too long to show comes as its two ends, its length and its digest. */
  const isCutShort = (context) => Object.hasOwn(context, "command_end");

  /** Characters that a reader would not see, or would see in another place, and the mark that begins an escape. */
  const unseen = new RegExp(
    [
      "[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Co}\\p{Default_Ignorable_Code_Point}\\p{Bidi_Control}\\p{Noncharacter_Code_Point}‹",
      "\\u2800\\ufff9-\\ufffd\\u{13430}-\\u{1345f}\\u{16fe4}\\u{1d159}]|(?! )\\p{White_Space}|^ +| {2,}| +$",
    ].join(""), "gu");

  function nameOf(found) {
    if (found[0] === " ") return found.length > 1 ? `${found.length} spaces` : "1 space";
    if (found === "\t") return "tab";
    if (found === "\n") return "newline";
    return `U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  }

  /**
   * All of a value as `{text, isName}`, for a user who decides by it: invisible characters are named between ‹ and ›.
   * The service and the command do the same (DisplayText.escaped). This is only for display: the value is signed as it
   * came.
   */
  function pieces(value) {
    if (value === "") return [{ text: "‹empty›", isName: true }];
    const found = [];
    let end = 0;
    for (const match of value.matchAll(unseen)) {
      if (match.index > end) found.push({ text: value.slice(end, match.index), isName: false });
      found.push({ text: `‹${nameOf(match[0])}›`, isName: true });
      end = match.index + match[0].length;
    }
    if (end < value.length) found.push({ text: value.slice(end), isName: false });
    return found;
  }

  const escaped = (value) => pieces(String(value)).map(({ text }) => text).join("");

  /** A value amid other words: letters of the other writing direction do not move those words. */
  const isolated = (value, shown = escaped(value)) => (/^[ -~]*$/u.test(value) ? shown : `\u2068${shown}\u2069`);

  /** Everything in a context as pairs of texts: what is signed is what is shown. */
  function contextPairs(context) {
    const known = Object.keys(contextNames).filter((name) => Object.hasOwn(context, name));
    const others = Object.keys(context).filter((name) => !isOwn(name));
    return [...known, ...others].map((name) => ({
      name, label: labelOf(name, context), value: escaped(context[name]), pieces: pieces(String(context[name])),
      isOwn: isOwn(name),
    }));
  }

  /** Characters of a service's name in a title; all of it stands below. */
  const greatestService = 40;

  function title(context) {
    const isTransaction = Object.keys(context).some((name) => !isOwn(name));
    const letters = Array.from(context.service ?? (isTransaction ? "Transaction" : "Sign-in"));
    // The computer chooses the PAM service's name, but not its own: a long name must not push the computer out of sight.
    const service = letters.slice(0, greatestService).join("") + (letters.length > greatestService ? "…" : "");
    return context.host === undefined ? isolated(service) : `${isolated(service)} on ${isolated(context.host)}`;
  }

  /** Characters of a request that a notification shows on every system. */
  const greatestNotice = 240;

  /** Whether a notification shows the whole request: a long one is cut. */
  function fitsNotice(context) {
    const facts = contextPairs(context);
    const isUsual = facts.every(
      ({ name, pieces }) => isOwn(name) && !name.startsWith("command") && pieces.every((one) => !one.isName));
    return isUsual && facts.reduce((sum, { label, value }) => sum + label.length + value.length, 0) <= greatestNotice;
  }

  // --- Notifications ---

  /** Milliseconds that a notification waits for its turn. The phone may have frozen the page that has it. */
  const turnPatience = 1_000;

  /**
   * Does this while neither the page nor the service worker shows or reads notifications: Chromium forgets the one that
   * is being shown if somebody reads them meanwhile.
   */
  async function inTurn(work) {
    if (!navigator.locks) return work();
    let hasTurn = false;
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(), turnPatience);
    try {
      return await navigator.locks.request("iampass notifications", { signal: waiting.signal }, () => {
        hasTurn = true;
        return work();
      });
    } catch (error) {
      if (hasTurn) throw error;
      return work();
    } finally {
      clearTimeout(timer);
    }
  }

  /** What is shown of this phone's requests. */
  const notifications = (registration) => inTurn(() => registration.getNotifications());

  const showNotification = (registration, heading, options) => (
    inTurn(() => registration.showNotification(heading, options)));

  return Object.freeze({
    base, text, base64, base64url, fromBase64url, hexadecimal, sha256, canonical, canonicalBytes, accounts, makeKey,
    makeAgreementKey, agreementAlgorithm, keyAlgorithm, signing, Refusal, get, post, ask,
    askFor, answerStatement, sendAnswer, contextPairs, documentService, escaped, fitsNotice, isCutShort, isForDocument,
    isolated, notifications, showNotification, title,
  });
})();
