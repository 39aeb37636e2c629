// Judges a document that an administrator is asked to sign: whether it is what is shown, and what it changes. `iampass-phone`
// judges in the same way (DocumentReviewer).
import "./shared.js";
import { administratorChanges, administratorLine, count, person, userChanges, userLine } from "./changes.js";
import {
  digestOf, documentOf, ensure, entryIn, headIn, isName, Misfit, older, setIn,
} from "./document-forms.js";
import { isHigher, isKnown, knownOf, lost, missed, reaches, remembering, versionOf } from "./document-memory.js";
import { signerOf } from "./proofs.js";

const { askFor, base, canonical, hexadecimal, isForDocument, Refusal, sha256, text } = globalThis.iampass;

/** Bytes of a page, and of all; pages. The service sends less than 64 KiB a page. */
const greatestPage = 1 << 17;
const greatestSize = 64 << 20;
const greatestPages = 2_000;
const greatestSets = 1_000;
/** Milliseconds for a page. */
const patience = 15_000;

// --- Fetching ---

/** The body of a reply, unless it is too large. */
async function bodyOf(response) {
  const reader = response.body.getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { size, json: JSON.parse(await new Blob(chunks).text()) };
    size += value.length;
    if (size > greatestPage) {
      void reader.cancel();
      throw new Misfit("tooLarge");
    }
    chunks.push(value);
  }
}

async function fetched(account, members) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), patience);
  try {
    return await bodyOf(await askFor(account, "document", "document", members, { signal: abort.signal }));
  } catch (error) {
    throw error.name === "AbortError" ? new Refusal(0, "UNREACHABLE") : error;
  } finally {
    clearTimeout(timer);
  }
}

/** The pages of a request's document, one after the other. */
export async function* pagesOf(account, request, memory) {
  const end = performance.now() + request.seconds_left * 1000;
  let after = "";
  for (;;) {
    ensure(performance.now() < end, "tooLarge");
    const page = await fetched(account, { session: request.session, administrators: memory.set, after });
    yield page;
    after = page.json?.next ?? null;
    if (after === null) return;
    ensure(typeof after === "string" && after !== "" && text.encode(after).length <= 200);
  }
}

const part = (page, name) => {
  const items = page[name] ?? [];
  ensure(Array.isArray(items));
  return items;
};

/** All pages, put together: `{kind, value, former, sets, entries, other, added}`. */
async function collected(pages) {
  const parts = { sets: [], entries: [], other: [], added: [] };
  let [size, number] = [0, 0];
  for await (const page of pages) {
    const { json } = page;
    ensure(typeof json === "object" && json !== null);
    if (number === 0) Object.assign(parts, documentIn(json));
    else ensure((json.head ?? json.set ?? json.former ?? null) === null);
    const [sets, entries, other, added] = ["sets", "entries", "other", "new"].map((name) => part(json, name));
    ensure(number === 0 || (json.next ?? null) === null || sets.length + entries.length + other.length + added.length > 0, "tooLarge");
    size += page.size;
    number += 1;
    // Before all pages are there: a service could otherwise send more than the phone has room for.
    ensure(size <= greatestSize && number <= greatestPages && parts.sets.length + sets.length <= greatestSets, "tooLarge");
    ensure(parts.entries.length + entries.length <= parts.greatest, "tooLarge");
    ensure(parts.added.length + added.length <= parts.greatest, "tooLarge");
    ensure(parts.other.length + other.length <= (parts.former?.head.lists[0].count ?? 0), "tooLarge");
    ensure(added.every(isName));
    parts.sets.push(...sets.map(signedSetIn));
    parts.entries.push(...entries.map(entryIn));
    parts.other.push(...other.map(entryIn));
    parts.added.push(...added);
  }
  return parts;
}

/** Only the first set has no proof. */
function signedSetIn({ set, proof }) {
  const read = { set: setIn(set), proof: proof ?? null };
  ensure(read.proof !== null || read.set.number === 1);
  return read;
}

function documentIn({ head, set, former }) {
  ensure(((head ?? null) === null) !== ((set ?? null) === null));
  if (!head) return { kind: "administrators", value: setIn(set), former: former ?? null, greatest: 0 };
  const value = headIn(head);
  const last = (former ?? null) === null ? null : { head: headIn(former.head), proof: former.proof };
  // Each name of the list may come once, and each of the former one.
  return { kind: "users", value, former: last, greatest: value.lists[0].count };
}

// --- Judging ---

/**
 * What the user is to be shown, and what the answer signs: `{title, heading, notes, lines, digest, challenge,
 * memoryOnceSigned}`. Throws a Misfit if it cannot be signed, and a Refusal if it could not be fetched.
 *
 * @param account with `device` and `publicKey`
 * @param {Memory} memory what was remembered of earlier reviews
 */
export async function review(account, request, memory, pages = pagesOf(account, request, memory), origin = base.origin) {
  const isOne = (request.document ?? null) !== null && isForDocument({ context: request.context }) && !request.for_another;
  ensure(isOne, "notADocument");
  let parts;
  try {
    parts = await collected(pages);
  } catch (error) {
    // A missing member, or a text that is not base64, fails in a way of its own.
    throw error instanceof Misfit || error instanceof Refusal ? error : new Misfit("malformed");
  }
  const document = await documentOf(parts.kind, parts.value);
  const isAsked = request.challenge === document.challenge && request.document.kind === parts.kind
    && (await digestOf(request.context)) === document.contextHash;
  ensure(isAsked, "otherDocument");
  const sets = await verified(parts.sets, memory, origin);
  const inForce = sets.at(-1);
  ensure(inForce.keys.some(({ phone, key }) => phone?.id === account.device && key === account.publicKey), "notAnAdministrator");
  const known = {
    notes: await news(sets, memory), memory: { ...memory, set: inForce.number, digest: await digestOf(inForce.json) },
    remembered: memory, origin,
  };
  const found = await (parts.kind === "users" ? ofUsers(document, sets, parts, known) : ofSet(document, inForce, parts, known));
  return { digest: document.digest, challenge: document.challenge, ...found };
}

/** The sets, of which each follows from the one before. Those after the one that the phone knows are signed. */
async function verified(signed, memory, origin) {
  ensure(signed.length > 0, "otherAdministrators");
  let before = null;
  let isKnown = memory.set === 0 && signed[0].set.number === 1;
  for (const { set, proof } of signed) {
    const digest = await digestOf(set.json);
    if (before) {
      ensure(set.number === before.set.number + 1 && set.previous === before.digest, "otherAdministrators");
      const isNew = set.number > memory.set;
      ensure(!isNew || (await signerOf(await documentOf("administrators", set), proof, before.set, origin)) !== null,
        "otherAdministrators");
    }
    if (set.number === memory.set) isKnown = digest === memory.digest;
    before = { set, digest };
  }
  ensure(isKnown, "otherAdministrators");
  return signed.map(({ set }) => set);
}

/** What is new to this phone of the administrators whom it believes. */
async function news(sets, memory) {
  const inForce = sets.at(-1);
  if (inForce.number === memory.set) return [];
  const known = sets.find(({ number }) => number === memory.set);
  return known
    ? ["the administrators have changed since this phone saw them:", ...(await administratorChanges(known, inForce))]
    : ["this phone sees the administrators for the first time; compare their words:",
      ...(await Promise.all(inForce.keys.map(administratorLine)))];
}

async function ofSet(document, inForce, parts, known) {
  const set = document.value;
  const follows = set.number === inForce.number + 1 && set.previous === known.memory.digest;
  ensure(follows && parts.former === null && parts.other.length + parts.added.length === 0, "otherAdministrators");
  const lines = await administratorChanges(inForce, set);
  return {
    title: `administrators of this service, number ${set.number}`, notes: known.notes, lines,
    heading: lines.length === 0 ? "no change" : count(lines.length, "change"),
    memoryOnceSigned: known.memory,
  };
}

async function ofUsers(document, sets, parts, { notes, memory, remembered, origin }) {
  const head = document.value;
  const users = byName(parts.entries, "otherUsers");
  await ensureMade(head, parts.entries, "otherUsers");
  ensure(head.administrators === memory.digest, "otherSet");
  const known = knownOf(remembered, head.application);
  for (const one of [known.seen, known.own]) {
    if (one && !reaches(document, one)) throw older(head.version, versionOf(one));
  }
  const last = await formerOf(document, users, sets, parts, known, origin);
  const shown = {
    title: `users of ${head.application}, version ${head.version}`, memoryOnceSigned: remembering(memory, document, last.former),
  };
  if (last.entries) {
    const lines = await userChanges(last.entries, users);
    const changes = lines.length === 0 ? "no change" : count(lines.length, "change");
    return {
      ...shown, heading: `${changes} to version ${last.former.value.version}, which ${person(last.signer)} signed`,
      notes: [...notes, ...missed(last.former, known)], lines,
    };
  }
  const sorted = [...users.keys()].sort().map((name) => users.get(name));
  const lines = [];
  for (const entry of sorted) lines.push(await userLine(entry));
  return {
    ...shown, heading: `${last.why ? "whole" : "first"} list: ${count(lines.length, "user")}`,
    notes: last.why ? [...notes, last.why] : notes, lines,
  };
}

/** What a new list is held against: `{former, entries, signer}`; or `{former, why}` it is held against nothing. */
async function formerOf(document, users, sets, parts, known, origin) {
  const head = document.value;
  if (parts.former === null) {
    ensure(parts.other.length + parts.added.length === 0, "otherFormerUsers");
    ensure(head.previous === "", "notNext");
    return { former: null, why: lost(document, null, known) };
  }
  const former = await documentOf("users", parts.former.head);
  const last = former.value;
  ensure(last.application === head.application, "formerNotSigned");
  const signer = await signerIn(former, parts.former.proof, sets, origin);
  if (!isHigher(head, last)) throw older(head.version, last.version);
  ensure(head.previous === former.digest, "notNext");
  const entries = rebuilt(users, parts);
  await ensureMade(last, [...entries.values()], "otherFormerUsers");
  const why = lost(document, former, known);
  if (why) return { former, why };
  if (!isKnown(former, known) && !signer.isInForce) {
    return { former, why: `${person(signer.name)}, who signed the last list, is not an administrator now` };
  }
  return { former, entries, signer: signer.name };
}

/** Whoever signed the former list, by the set that it names: now an administrator, or once. */
async function signerIn(former, proof, sets, origin) {
  for (const set of sets) {
    if ((await digestOf(set.json)) !== former.value.administrators) continue;
    const name = await signerOf(former, proof, set, origin);
    ensure(name !== null, "formerNotSigned");
    return { name, isInForce: (await signerOf(former, proof, sets.at(-1), origin)) !== null };
  }
  throw new Misfit("formerNotSigned");
}

/** The former list, from the new one and what it had otherwise. */
function rebuilt(users, { other, added }) {
  const entries = new Map(users);
  const differing = byName(other, "otherFormerUsers");
  for (const name of added) ensure(!differing.has(name) && entries.delete(name), "otherFormerUsers");
  for (const [name, entry] of differing) entries.set(name, entry);
  return entries;
}

function byName(entries, word) {
  const found = new Map(entries.map((entry) => [entry.name, entry]));
  ensure(found.size === entries.length, word);
  return found;
}

/** These users make each list of the head, and are in no other group; otherwise it throws. */
async function ensureMade(head, entries, word) {
  const sorted = [...entries].sort((one, other) => (one.name < other.name ? -1 : 1));
  const texts = new Map(head.lists.map(({ group }) => [group, []]));
  for (const { line, groups } of sorted) {
    const written = `${canonical(line)}\n`;
    for (const group of ["", ...groups]) {
      ensure(texts.has(group), word);
      texts.get(group).push(written);
    }
  }
  for (const { group, count: expected, digest } of head.lists) {
    const lines = texts.get(group);
    ensure(lines.length === expected && hexadecimal(await sha256(text.encode(lines.join("")))) === digest, word);
  }
}
