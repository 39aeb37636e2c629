// What this phone remembers of the documents that it has seen signed. Its own database: a tab that keeps an account must not
// put back what another one has forgotten.
import "./shared.js";
import { formerIsOlder } from "./document-forms.js";

const { base } = globalThis.iampass;

/**
 * `lists`: by the application's id, the newest list that was in force, as far as this phone knows. `signed`: the one that it
 * signed last, whose signature may have got lost on its way.
 *
 * @typedef {Object<string, {epoch: number, number: number, digest: string}>} Lists
 * @typedef {{set: number, digest: string, lists: Lists, signed: Lists}} Memory
 */

/** What a phone remembers that has seen no document. */
export const nothing = { set: 0, digest: "", lists: {}, signed: {} };

// --- What is kept ---

function database() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("iampass documents " + base.pathname, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("memories");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

/** Runs `work` on the store; the result of its request, once all is on disk. */
async function stored(mode, work) {
  const opened = await database();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = opened.transaction("memories", mode, { durability: "strict" });
      const request = work(transaction.objectStore("memories"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error ?? request.error);
    });
  } finally {
    opened.close();
  }
}

/** Throws if it cannot be read: a phone that has forgotten takes older documents. */
export const remembered = async (device) => (await stored("readonly", (store) => store.get(device))) ?? nothing;

function newestLists(one, other) {
  const lists = { ...one };
  for (const [application, list] of Object.entries(other)) {
    if (!Object.hasOwn(lists, application) || isHigher(list, lists[application])) lists[application] = list;
  }
  return lists;
}

/** The newer of what two tabs remember. */
function newest(one, other) {
  const [lists, signed] = ["lists", "signed"].map((name) => newestLists(one[name], other[name]));
  return { ...(one.set < other.set ? other : one), lists, signed };
}

/** Nothing that another tab remembers is lost. */
export const remember = (device, memory) => stored("readwrite", (store) => {
  const reading = store.get(device);
  reading.onsuccess = () => store.put(newest(memory, reading.result ?? nothing), device);
  return reading;
});

export const forget = (device) => stored("readwrite", (store) => store.delete(device));

// --- What follows from it ---

export const isHigher = (one, other) => one.epoch > other.epoch || (one.epoch === other.epoch && one.number > other.number);
export const versionOf = ({ epoch, number }) => `${epoch}.${number}`;

/** `{seen, own}`: what the phone remembers of an application's lists; null without. */
export const knownOf = (memory, application) => {
  const [seen, own] = [memory.lists, memory.signed].map((lists) => (Object.hasOwn(lists, application) ? lists[application] : null));
  return { seen, own };
};

/** Whether a document is the list that the phone knows, or one of a higher version. */
export const reaches = ({ value, digest }, known) => digest === known.digest || isHigher(value, known);

/** @param former of the list in force, which was verified; null: there is none. */
export function remembering(memory, document, former) {
  const { application } = document.value;
  if (!Object.hasOwn(memory.signed, application) && Object.keys(memory.signed).length >= 256) return memory;
  const entry = ({ value, digest }) => ({ [application]: { epoch: value.epoch, number: value.number, digest } });
  const { seen } = knownOf(memory, application);
  const isNew = former !== null && (seen === null || reaches(former, seen));
  return {
    ...memory, signed: { ...memory.signed, ...entry(document) },
    lists: isNew ? { ...memory.lists, ...entry(former) } : memory.lists,
  };
}

export const isKnown = ({ digest }, { seen, own }) => digest === seen?.digest || digest === own?.digest;

/**
 * A list that this phone knows, and that the last one which is shown does not come after; null if there is none.
 *
 * A list that was in force is in force no more only if the database was put back, which a higher epoch says: the whole list is
 * shown then. A list that this phone signed may have got lost; what it changed is shown with the whole list.
 */
export function lost(document, former, { seen, own }) {
  const version = former && former.value.version;
  const shown = former ? `version ${version} as the last list` : "no last list";
  const isLost = (known) => known && !(former && reaches(former, known));
  if (isLost(seen)) {
    if (document.value.epoch <= seen.epoch) throw formerIsOlder(version, versionOf(seen));
    return `the service says that its database was put back: it shows ${shown}, `
      + `and this phone knows version ${versionOf(seen)}`;
  }
  if (!isLost(own) || own.digest === document.digest) return null;
  if (version === versionOf(own) && document.value.epoch <= own.epoch) throw formerIsOlder(version, versionOf(own));
  return `the service shows ${shown}, and not the version ${versionOf(own)} that this phone has signed`;
}

/** Others signed what came between the last list that this phone knows and the one that it is shown. */
export function missed(former, known) {
  const lists = [known.seen, known.own].filter(Boolean);
  if (lists.length === 0 || isKnown(former, known)) return [];
  const last = lists.reduce((one, other) => (isHigher(other, one) ? other : one));
  return [`the last list that this phone knows is version ${versionOf(last)}: others signed what came after it`];
}
