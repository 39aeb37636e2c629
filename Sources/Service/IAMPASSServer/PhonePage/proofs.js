// Whether a key of a set of administrators signed a document (DocumentCheck). A proof comes from the service, and is believed
// for nothing but its signature.
import "./shared.js";

const { base64url, canonicalBytes, fromBase64url, keyAlgorithm, sha256, signing, text } = globalThis.iampass;

const userPresent = 1;
const userVerified = 4;
/** Bytes of an authenticator's data before extensions; of a client's data; of each of a signature's two numbers. */
const leastAuthenticatorData = 37;
const greatestClientData = 4_096;
const half = 32;

const bytesOf = (encoded) => Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));

async function isMade(key, signature, message) {
  const imported = await crypto.subtle.importKey("spki", bytesOf(key), keyAlgorithm, false, ["verify"]);
  return crypto.subtle.verify(signing, imported, signature, message);
}

/**
 * The name of the administrator whose key made the proof; null if no key of the set did.
 *
 * @param document of document-forms.js
 * @param origin the service's
 */
export async function signerOf(document, proof, set, origin) {
  try {
    if (typeof proof.recovery === "string") return await recoveryName(document, proof, set);
    return await phoneName(document, proof, set, origin);
  } catch {
    // A part is missing, or has another form.
    return null;
  }
}

async function recoveryName(document, proof, set) {
  const known = set.keys.find(({ kind, key }) => kind === "recovery" && key === proof.recovery);
  // Such a key signs sets alone.
  if (!known || document.kind !== "administrators") return null;
  const message = canonicalBytes({ purpose: "iampass-recovery/1", document: document.digest });
  return (await isMade(known.key, bytesOf(proof.signature), message)) ? known.name : null;
}

async function phoneName(document, { phone, statement, signature, assertion }, set, origin) {
  const known = set.keys.find((key) => key.phone?.id === phone);
  if (!known || !(await isMade(known.key, bytesOf(signature), canonicalBytes(statement)))) return null;
  const says = {
    purpose: "answer", answer: "approve", device: phone, origin, challenge: document.challenge,
    context_hash: document.contextHash, document: document.digest,
    method: known.phone.credential ? "device" : "acceptance",
  };
  if (Object.entries(says).some(([name, value]) => statement[name] !== value)) return null;
  const isProven = !known.phone.credential || (await isUnlocked(assertion, known.phone.credential, statement, origin));
  return isProven ? known.name : null;
}

/** Whether the phone's screen lock verified its user for this statement (Web Authentication, level 2, §7.2). */
async function isUnlocked(assertion, credential, statement, origin) {
  const [data, client] = [fromBase64url(assertion.authenticator_data), fromBase64url(assertion.client_data)];
  if (data.length < leastAuthenticatorData || client.length > greatestClientData) return false;
  const said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(client));
  const challenge = base64url(await sha256(canonicalBytes(statement)));
  if (said.type !== "webauthn.get" || said.challenge !== challenge || said.origin !== origin || said.crossOrigin) return false;
  const party = new Uint8Array(await sha256(text.encode(new URL(origin).hostname)));
  const flags = userPresent | userVerified;
  if (party.some((byte, place) => data[place] !== byte) || (data[32] & flags) !== flags) return false;
  const message = new Uint8Array([...data, ...new Uint8Array(await sha256(client))]);
  return isMade(credential.public_key, rawSignature(fromBase64url(assertion.signature)), message);
}

/** r and s of an ECDSA signature in DER, as WebCrypto wants them. */
function rawSignature(der) {
  let place = 2;
  const number = () => {
    if (der[place] !== 2) throw new Error("not a number");
    const end = place + 2 + der[place + 1];
    const digits = der.slice(place + 2, end);
    place = end;
    const first = digits.findIndex((digit) => digit !== 0);
    const significant = first < 0 ? digits.slice(0, 0) : digits.slice(first);
    if (significant.length > half) throw new Error("too long");
    return [...new Uint8Array(half - significant.length), ...significant];
  };
  if (der[0] !== 0x30 || der[1] !== der.length - 2) throw new Error("not DER");
  const raw = [...number(), ...number()];
  if (place !== der.length) throw new Error("more than two numbers");
  return new Uint8Array(raw);
}
