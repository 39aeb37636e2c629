// How computers come to know this phone's keys: by a MAC under the secret of the registration link, or by six words.
import "./shared.js";

const { base, base64, base64url, canonicalBytes, fromBase64url, sha256 } = globalThis.iampass;

/** What begins the part of a link that browsers do not send. */
const fragment = "#pin=";
/** The length of a link's secret, in bytes. */
const secretSize = 16;

/** The secrets of the links that registered a phone in this visit, by the phone's id. They are kept nowhere else. */
const secrets = new Map();

/** The secrets of the links that wait for the user's tap, by their codes. This tab alone has them, also once reloaded. */
const waiting = {
  name: (code) => "iampass pin of " + code,
  get: (code) => globalThis.sessionStorage.getItem(waiting.name(code)),
  set: (code, encoded) => globalThis.sessionStorage.setItem(waiting.name(code), encoded),
  remove: (code) => globalThis.sessionStorage.removeItem(waiting.name(code)),
};

/**
 * The secret of the registration link with this code: the link's own, or the one that this tab opened it with before;
 * null if there is none.
 *
 * Throws if a part of the secret is missing: otherwise the phone would be registered, and no computer would believe it.
 */
export function secretOf(link, code) {
  const encoded = encodedIn(link);
  if (encoded !== null) waiting.set(code, encoded);
  const kept = encoded ?? waiting.get(code);
  return kept === null ? null : fromBase64url(kept);
}

/** The text of a link's secret; null if the link has none. Throws if it is not whole. */
function encodedIn(link) {
  const start = link.indexOf("#");
  if (start < 0) return null;
  const encoded = link.startsWith(fragment, start) ? link.slice(start + fragment.length) : "";
  if (/^[\w-]{22}$/.test(encoded)) {
    const secret = fromBase64url(encoded);
    if (secret.length === secretSize && base64url(secret) === encoded) return encoded;
  }
  throw new Error("the link is damaged. Scan the QR code again, or ask for a new link.");
}

/** Takes the secret out of the address bar and of this tab's history. */
export function hideSecret() {
  if (location.hash.startsWith(fragment)) history.replaceState(null, "", location.pathname);
}

/** Forgets the secret of a link that registered a phone, was refused, or was left. */
export const forgetSecret = (code) => waiting.remove(code);

/** Keeps the secret of the link with this code while the page is open. */
export function keepSecret(device, secret, code) {
  if (secret) secrets.set(device, { secret, code });
}

/** What a phone's words and pin are made of. A credential is `{id, public_key}`, or null. */
const keysOf = (publicKey, credential) => ({
  public_key: publicKey, credential: credential && { id: credential.id, public_key: credential.public_key },
});

/** The member `pin_mac` of a message with these keys; nothing if the link has no secret. */
export async function pin(secret, code, publicKey, credential) {
  if (!secret) return {};
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const message = { ...keysOf(publicKey, credential), purpose: "pin", origin: base.origin, link: code };
  return { pin_mac: base64(await crypto.subtle.sign("HMAC", key, canonicalBytes(message))) };
}

/** As {@link pin}, for a phone that was registered in this visit. */
export function laterPin(device, publicKey, credential) {
  const { secret, code } = secrets.get(device) ?? {};
  return pin(secret, code, publicKey, credential);
}

const consonants = "bdfghjklmnprstvz";
const vowels = "aiou";
const lastVowels = "ao";
const wordCount = 6;
/** A word is a consonant (4 bits), a vowel (2), a consonant (4) and one of two vowels (1). */
const bitsOfAWord = 11;

/**
 * Six words for two people to compare. `iampass-phone status` prints the same (PhoneKeys.words).
 *
 * Null if this browser does not know its keys: an older page registered it.
 */
export async function words({ publicKey, credential, methods }) {
  if (!credential && methods?.includes("device")) return null;
  const digest = new Uint8Array(await sha256(canonicalBytes(keysOf(publicKey, credential ?? null))));
  const bits = Array.from(digest, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return Array.from({ length: wordCount }, (_, place) => {
    const word = parseInt(bits.slice(place * bitsOfAWord, (place + 1) * bitsOfAWord), 2);
    return consonants[word >> 7] + vowels[(word >> 5) & 3] + consonants[(word >> 1) & 15] + lastVowels[word & 1];
  }).join(" ");
}
