// What a document changes, in lines for the administrator who signs it. `iampass-phone` says the same (DocumentWords).
import "./shared.js";
import { words } from "./pins.js";

const { escaped, isolated } = globalThis.iampass;

/** Letters of a name that are told by their numbers. */
const greatestPoints = 4;

export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

const point = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** A name that people chose, which may have any visible character. Nothing in it looks like its end. */
function quoted(name) {
  const shown = escaped(name).replace(/[“”]/gu, (mark) => `‹${point(mark)}›`);
  return `“${isolated(name, shown)}”`;
}

/** An administrator's name, with the letters that could stand for others of the same look. */
export function person(name) {
  const foreign = Array.from(name).filter((letter) => letter > "\x7f");
  if (foreign.length === 0) return quoted(name);
  const more = foreign.length > greatestPoints ? " …" : "";
  return `${quoted(name)} [${foreign.slice(0, greatestPoints).map(point).join(" ")}${more}]`;
}

const wordsOf = (publicKey, credential) => words({ publicKey, credential, methods: [] });

const phoneText = async (phone) => `phone ${quoted(phone.name)} (${await wordsOf(phone.key, phone.credential)})`;

const groupsText = ({ groups }) => (groups.length === 0 ? "(no group)" : `(${groups.join(", ")})`);

// --- Users ---

/** `bob (office), phone “Pixel 8” (saha tira gava hoka juga dado)`. */
export async function userLine(entry) {
  const phones = entry.phones.length === 0 ? ["no phone"] : await Promise.all(entry.phones.map(phoneText));
  return [`${entry.name} ${groupsText(entry)}`, ...phones].join(", ");
}

/** What the new list has otherwise than the former one. Both are maps by name. */
export async function userChanges(former, now) {
  const lines = [];
  for (const name of [...new Set([...former.keys(), ...now.keys()])].sort()) {
    const [before, after] = [former.get(name), now.get(name)];
    if (!before) lines.push(`add ${await userLine(after)}`);
    else if (!after) lines.push(`remove ${name} ${groupsText(before)}`);
    else if (before !== after) lines.push(...(await changesOf(before, after)).map((line) => `${name}: ${line}`));
  }
  return lines;
}

const isSame = (one, other) => one.id === other.id && one.key === other.key
  && one.credential?.id === other.credential?.id && one.credential?.public_key === other.credential?.public_key;

async function changesOf(before, after) {
  const found = [
    ...after.groups.filter((group) => !before.groups.includes(group)).map((group) => `into group ${group}`),
    ...before.groups.filter((group) => !after.groups.includes(group)).map((group) => `out of group ${group}`),
  ];
  if (before.token !== after.token) found.push("stands for another user of the service");
  for (const phone of after.phones.filter(({ fields }) => !before.phones.some((one) => one.fields === fields))) {
    const old = before.phones.find((one) => isSame(one, phone));
    if (!old) found.push(`new ${await phoneText(phone)}`);
    else if (old.name !== phone.name) found.push(`${await phoneText(old)} is now called ${quoted(phone.name)}`);
    else found.push(`${await phoneText(phone)} has another date`);
  }
  for (const phone of before.phones.filter((one) => !after.phones.some((other) => isSame(one, other)))) {
    found.push(`no more ${await phoneText(phone)}`);
  }
  return found;
}

// --- Administrators ---

/** `phone “Pixel 8” (saha tira gava hoka juga dado) of “alice”`. */
export async function administratorLine({ name, key, phone }) {
  return phone ? `${await phoneText(phone)} of ${person(name)}`
    : `recovery key ${person(name)} (${await wordsOf(key, null)})`;
}

export async function administratorChanges(former, now) {
  const lacks = (set) => ({ text }) => !set.keys.some((key) => key.text === text);
  const lines = (keys, act) => keys.map(async (key) => `${act} ${await administratorLine(key)}`);
  return Promise.all([
    ...lines(now.keys.filter(lacks(former)), "add"), ...lines(former.keys.filter(lacks(now)), "remove"),
  ]);
}
