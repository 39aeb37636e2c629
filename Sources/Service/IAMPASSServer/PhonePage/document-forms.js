// The form of what administrators sign: sets of administrators, and lists of users. Every other spelling is refused, so that
// computers read what this page shows (IAMPASSProtocol/SignedLists).
import "./shared.js";

const { base64, base64url, canonicalBytes, documentService, fromBase64url, hexadecimal, sha256 } = globalThis.iampass;

const greatestKeys = 64;
const greatestGroups = 256;
/** Users in a list. */
const greatestUsers = 100_000;
/** Phones of a user. */
const greatestPhones = 4;
/** Characters of a phone's name, and of an administrator's. */
const greatestPhoneName = 64;
const greatestName = 100;
/** The bytes before the coordinates in each key of P-256, as base64 has them: 27 of 91 bytes. */
const keyForm = /^MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE[A-Za-z0-9+/]{86}==$/;
const digestForm = /^[0-9a-f]{64}$/;
const idForm = /^[!-~]{1,128}$/;

/** Why this page does not sign what the service shows. */
export class Misfit extends Error {
  constructor(word) {
    super(explanations[word]);
    this.word = word;
  }
}

/** As DocumentMisfit has them. */
const explanations = {
  notADocument: "this request asks for an administrator's signature and does not say what for",
  malformed: "what the service shows is malformed",
  tooLarge: "what the service shows does not end, or is too large",
  otherDocument: "the request is not about what the service shows",
  otherUsers: "the users that the service shows are not the list that is to be signed",
  otherFormerUsers: "the users that the service shows are not those of the last list",
  formerNotSigned: "no administrator signed what the service shows as the last list",
  notNext: "the list does not follow from the one that the service shows as the last",
  otherSet: "the list names other administrators than those of now",
  otherAdministrators: "the administrators do not follow from those that this phone knows",
  notAnAdministrator: "this phone is not an administrator's: its signature would not count",
};

export function older(version, seen) {
  const misfit = new Misfit("older");
  misfit.message = `version ${version} is older than version ${seen}, which was signed before`;
  return misfit;
}

/** @param shown the version that the service shows; null: it shows none. */
export function formerIsOlder(shown, seen) {
  const misfit = new Misfit("formerIsOlder");
  const last = shown === null ? "no list" : `version ${shown}`;
  misfit.message = `the service shows ${last} as the last one; this phone knows version ${seen}`;
  return misfit;
}

export function ensure(holds, word = "malformed") {
  if (!holds) throw new Misfit(word);
}

/** Characters that a name may not have: computers would show another name (DisplayText.sanitized). */
const unplain = new RegExp(
  [
    "[\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Co}\\p{Default_Ignorable_Code_Point}\\p{Bidi_Control}\\p{Noncharacter_Code_Point}",
    "\\u2800\\ufff9-\\ufffd\\u{13430}-\\u{1345f}\\u{16fe4}\\u{1d159}]",
  ].join(""), "u");

const isText = (value) => typeof value === "string";
const isPlain = (value, limit) => isText(value) && Array.from(value).length <= limit && !unplain.test(value);
const isKey = (value) => isText(value) && keyForm.test(value);
const isNumber = (value, least) => Number.isSafeInteger(value) && value >= least;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** UserListLine.isName: a user's or a group's. */
export const isName = (value) => isText(value) && /^(?!-)[\w.@$-]{1,64}$/.test(value) && value !== "root";
const ascends = (values) => values.every((value, index) => index === 0 || values[index - 1] < value);
const areDifferent = (values) => new Set(values).size === values.length;

function hasExactly(value, ...names) {
  ensure(isObject(value) && String(Object.keys(value).sort()) === String([...names].sort()));
}

/** PinnedPhone.fields: `id:key:credential id:credential key:since:name`. */
export function phoneIn(fields) {
  ensure(isText(fields));
  const [id, key, credentialID, credentialKey, since, ...name] = fields.split(":");
  const phone = { fields, id, key, credential: null, since, name: name.join(":") };
  ensure(name.length > 0 && idForm.test(id) && isKey(key) && /^(0|[1-9]\d{0,15})$/.test(since)
    && isPlain(phone.name, greatestPhoneName));
  if (credentialID !== "" || credentialKey !== "") {
    ensure(/^[\w-]{2,1364}$/.test(credentialID) && isKey(credentialKey));
    ensure(base64url(fromBase64url(credentialID)) === credentialID);
    phone.credential = { id: credentialID, public_key: credentialKey };
  }
  return phone;
}

/** A user of a list: `{line, name, groups, phones, token}`. `line` is what the list's digest is made of. */
export function entryIn(json) {
  hasExactly(json, "name", "groups", "phones", "token");
  const { name, groups, phones: texts, token } = json;
  ensure(isName(name) && Array.isArray(groups) && groups.length <= greatestGroups && groups.every(isName) && ascends(groups));
  ensure(isText(token) && /^[!#-9;-[\]-~]{1,256}$/.test(token));
  ensure(Array.isArray(texts) && texts.length <= greatestPhones && texts.every(isText) && ascends(texts));
  const phones = texts.map(phoneIn);
  ensure(areDifferent(phones.map(({ id }) => id)) && areDifferent(phones.map(({ key }) => key)));
  return { line: { name, phones: texts, token }, name, groups, phones, token };
}

/** A set of administrators, with the phones of its keys taken apart. */
export function setIn(json) {
  hasExactly(json, "purpose", "number", "previous", "keys");
  const { purpose, number, previous, keys } = json;
  ensure(purpose === "iampass-administrators/1" && isNumber(number, 1) && Array.isArray(keys) && keys.length <= greatestKeys);
  ensure(number === 1 ? previous === "" : isText(previous) && digestForm.test(previous));
  const read = keys.map(keyIn);
  const phones = read.flatMap(({ phone }) => (phone ? [phone] : []));
  ensure(phones.length > 0 && areDifferent(phones.map(({ id }) => id)) && areDifferent(read.map(({ key }) => key)));
  return { json, number, previous, keys: read };
}

/** `{kind, name, key, phone}`; the phone is null for a recovery key. */
function keyIn(json) {
  ensure(isObject(json));
  const member = json.kind === "phone" ? "phone" : "key";
  hasExactly(json, "kind", "name", member);
  ensure(["phone", "recovery"].includes(json.kind) && json.name !== "" && isPlain(json.name, greatestName));
  const phone = member === "phone" ? phoneIn(json.phone) : null;
  ensure(phone || isKey(json.key));
  return { text: `${json.kind}:${json.name}:${json[member]}`, kind: json.kind, name: json.name, key: phone?.key ?? json.key, phone };
}

/** The head of a list of users. */
export function headIn(json) {
  hasExactly(json, "purpose", "application", "epoch", "number", "administrators", "previous", "lists");
  const { purpose, application, epoch, number, administrators, previous, lists } = json;
  ensure(purpose === "iampass-user-list/1" && isText(application) && idForm.test(application));
  ensure(isNumber(epoch, 0) && isNumber(number, 1) && Array.isArray(lists));
  ensure([administrators, previous || administrators].every((one) => isText(one) && digestForm.test(one)) && isText(previous));
  ensure(lists.length >= 1 && lists.length <= greatestGroups);
  for (const list of lists) {
    hasExactly(list, "group", "count", "digest");
    ensure((list.group === "" || isName(list.group)) && isNumber(list.count, 0) && list.count <= greatestUsers);
    ensure(isText(list.digest) && digestForm.test(list.digest));
  }
  ensure(lists[0].group === "" && ascends(lists.map(({ group }) => group)));
  return { json, application, epoch, number, administrators, previous, lists, version: `${epoch}.${number}` };
}

// --- Digests ---

export const digestOf = async (json) => hexadecimal(await sha256(canonicalBytes(json)));

/** The challenge that asks for the signature of the document with this digest. */
export const challengeOf = (digest) => base64(Uint8Array.from(digest.match(/../g), (pair) => parseInt(pair, 16)));

/** What a request for the document says that it is about (SignedDocument.context). */
export const contextOf = (kind, value) => ({
  host: kind, service: documentService,
  command: kind === "administrators" ? `administrators of this service, number ${value.number}`
    : `users of ${value.application}, version ${value.version}`,
});

/** `{kind, value, digest, challenge, contextHash}` of a set, or of a head. */
export async function documentOf(kind, value) {
  const digest = await digestOf(value.json);
  return { kind, value, digest, challenge: challengeOf(digest), contextHash: await digestOf(contextOf(kind, value)) };
}
