// The part of a request's card that shows a document: what an administrator signs by approving.
import "./shared.js";
import { show } from "./dom.js";
import { Misfit } from "./document-forms.js";
import { remember, remembered } from "./document-memory.js";
import { sentence } from "./refusals.js";
import { review } from "./review.js";

/** Lines that are shown at first, and with each further tap. */
const greatestLines = 50;
const furtherLines = 1_000;

const begin = (text) => text[0].toUpperCase() + text.slice(1);

export const heading = "To sign as an administrator";

export class DocumentPart {
  #element;
  #account;
  #request;
  #allow;
  #found = null;
  #shown = 0;

  /** @param allow is called once the document fits and is shown: it may be approved from then on. */
  constructor(element, account, request, allow) {
    this.#element = element;
    this.#account = account;
    this.#request = request;
    this.#allow = allow;
    element.hidden = false;
    this.#part(".document-more").addEventListener("click", () => this.#showMore(furtherLines));
    this.#part(".document-again").addEventListener("click", () => void this.load());
  }

  async load() {
    show(this.#part(".document-state"), "Loading what is to be signed…");
    show(this.#part(".document-misfit"), null);
    this.#part(".document-again").hidden = true;
    try {
      const { device } = this.#account;
      const found = await review(this.#account, this.#request, await remembered(device));
      this.#showAll(found);
    } catch (error) {
      this.#refuse(error);
    }
    show(this.#part(".document-state"), null);
  }

  /** What the answer signs. Throws if there is nothing to sign. */
  get signed() {
    if (!this.#found) throw new Error("this page did not show what is to be signed. Nothing was signed.");
    return this.#found;
  }

  /**
   * Before the answer is sent. What the user did not approve is not remembered: a request that nobody has read must not
   * make administrators or users known.
   */
  async remember() {
    await remember(this.#account.device, this.signed.memoryOnceSigned);
  }

  #part(selector) {
    return this.#element.querySelector(selector);
  }

  #showAll(found) {
    show(this.#part(".document-title"), begin(found.title));
    this.#part(".document-notes").replaceChildren(...found.notes.map((note) => item(begin(note))));
    show(this.#part(".document-heading"), begin(found.heading));
    this.#found = found;
    this.#shown = 0;
    this.#part(".document-lines").replaceChildren();
    this.#showMore(greatestLines);
    this.#allow();
  }

  #showMore(number) {
    const { lines } = this.#found;
    const next = lines.slice(this.#shown, this.#shown + number);
    this.#part(".document-lines").append(...next.map(item));
    this.#shown += next.length;
    const left = lines.length - this.#shown;
    const more = Math.min(left, furtherLines);
    show(this.#part(".document-more"), left === 0 ? null
      : more === left ? `Show ${left} more` : `Show ${more} more of ${left}`);
  }

  #refuse(error) {
    const isFinal = error instanceof Misfit;
    show(this.#part(".document-misfit"), isFinal
      ? `This must not be signed: ${error.message}. Deny it, and tell the administrator of the service.`
      : sentence(error));
    this.#part(".document-again").hidden = isFinal;
  }
}

function item(text) {
  const made = document.createElement("li");
  made.textContent = text;
  return made;
}
