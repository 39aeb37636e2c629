// The page's own helpers. Everything from the service becomes text, never markup.

export const find = (id) => document.getElementById(id);

/** A copy of a template's only element. */
export function copyOf(template) {
  return find(template).content.firstElementChild.cloneNode(true);
}

/** A longer value, in characters, gets the whole width of the card. */
const greatestBeside = 40;

/** Fills a list of terms. Each pair is `{label, value}`; a request's pairs also have `pieces`, `name` and `isOwn`. */
export function fillFacts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(({ label, value, pieces, name, isOwn }) => {
    const term = document.createElement("dt");
    term.append(...withBreaks(label));
    const fact = document.createElement("dd");
    fact.append(...(pieces ? pieces.map(piece) : [value]));
    if (name?.startsWith("command")) fact.classList.add("command");
    // Names that applications choose are longer than ours.
    if (isOwn === false || value.length > greatestBeside) for (const one of [term, fact]) one.classList.add("wide");
    return [term, fact];
  }));
}

function piece({ text, isName }) {
  if (!isName) return text;
  const mark = document.createElement("span");
  mark.className = "unseen-name";
  mark.textContent = text;
  return mark;
}

/** Lets a name break after its underscores, hyphens and dots only. */
function withBreaks(name) {
  const parts = name.match(/[^-_.]+[-_.]*|[-_.]+/gu) ?? [];
  return parts.flatMap((part, index) => (index > 0 ? [document.createElement("wbr"), part] : [part]));
}

/** Shows a text, or hides its element if there is no text. */
export function show(element, text) {
  element.textContent = text ?? "";
  element.hidden = !text;
}

/** Milliseconds for which a success stands there. */
const freshness = 60_000;
let fading = null;
/** Whether the user may need what was said last for longer. */
let isKept = false;

/** Tells the result of a tap. It is read out when the screen reader is free. */
export function say(text) {
  tell("said", text);
  fading = setTimeout(dismiss, freshness);
}

/** The same, until something else is said. */
export function sayForLong(text) {
  tell("said", text);
  isKept = true;
}

/** The same for a result that the user did not want. It is read out at once. */
export const sayFailed = (text) => tell("failed", text);

/** A new request comes: nothing that was said of another one stands above it. */
export function dismiss() {
  if (!isKept) tell(null);
}

function tell(place, text) {
  clearTimeout(fading);
  isKept = false;
  for (const id of ["said", "failed"]) show(find(id), id === place ? text : null);
}

/** Tells a failure. It is read out at once. */
export const complain = (text) => show(find("problem"), text);

/** Reads a text out at once, without showing it. */
export const announce = (text) => (find("announcement").textContent = text);

/** Runs `work` while the buttons are off, so that a tap counts once. */
export async function withButtonsOff(within, work) {
  const buttons = [...within.querySelectorAll("button")].filter((button) => !button.disabled);
  const focused = document.activeElement;
  for (const button of buttons) button.disabled = true;
  try {
    return await work();
  } finally {
    for (const button of buttons) button.disabled = false;
    // A button that was off for a moment has lost the focus.
    if (document.activeElement === document.body && focused?.isConnected) focused.focus();
  }
}

/** Asks before something that cannot be undone. */
export function isSure(title, text, yes) {
  const dialog = find("sure");
  find("sure-title").textContent = title;
  find("sure-text").textContent = text;
  find("sure-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  find("sure-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** As much of a session's name as computers show of it in lists; their logs have all of it. */
export const shortName = (session) => session.slice(0, 8);

/** A time of the service's, as the reader's language writes it. */
export function moment(seconds) {
  const time = new Date(seconds * 1000);
  const isToday = time.toDateString() === new Date().toDateString();
  const day = isToday ? {} : { day: "numeric", month: "short" };
  return time.toLocaleString([], { hour: "2-digit", minute: "2-digit", ...day });
}
