// What a refusal means for the phone's user, and what to do next.
import "./shared.js";
import { find, show } from "./dom.js";

const { Refusal } = globalThis.iampass;

const words = {
  UNREACHABLE: "The service cannot be reached. Check this phone’s network, then try again.",
  STOPPING: "The service is restarting. Try again in a moment.",
  STORAGE_UNAVAILABLE: "The service’s storage does not work at the moment. Try again in a moment.",
  TIMESTAMP_OUTSIDE_WINDOW: "This phone’s clock is wrong. Set the clock, then try again.",
  UNKNOWN_LINK: "This link is invalid. Ask for a new one.",
  LINK_USED: "This link was already used. If that was not you, tell your administrator. For another phone, ask for a new link.",
  LINK_EXPIRED: "This link has expired. Ask for a new one.",
  HAS_MOBILE_DEVICE: "This user already has a phone. If that phone is lost, ask your administrator for a link that replaces it.",
  TOO_MANY_FAILURES: "Too many failed attempts from this network. Try again in some minutes.",
  UNKNOWN_DEVICE: "The service does not know this phone at the moment. Try again later. If this lasts, tell your administrator.",
  DEVICE_CUT_OFF: "This phone was cut off: another phone replaced it, or it was reported as lost. Ask your administrator.",
  WRONG_ORIGIN: "This phone was registered at another address of the service. Ask for a new link.",
  ALREADY_ANSWERED: "This request was already answered.",
  TOO_LATE: "Too late: this request has ended.",
  UNKNOWN_REQUEST: "This request has ended.",
  WRONG_CODE: "The digits were wrong, so the request was denied.",
  WRONG_CONTEXT: "This page did not show the request as it was made. Nothing was approved.",
  WRONG_CHALLENGE: "This page did not sign the request as it was made. Nothing was approved. Load the page again.",
  CODE_MISSING: "Type the digits that the computer shows.",
  WRONG_METHOD: "This request needs another method. Load the page again.",
  ASSERTION_MISSING: "This request needs the phone’s screen lock.",
  ASSERTION_REFUSED: "The service did not accept the screen lock’s signature. Nothing was approved.",
  SYNCED_PASSKEY: "This phone’s screen lock has a passkey that is synced to other devices, which your administrator does "
    + "not accept. Nothing was approved or added. Ask for a registration link for a phone whose passkeys stay on it.",
  BAD_CREDENTIAL: "The service did not accept this phone’s screen lock.",
  BAD_SUBSCRIPTION: "The service cannot reach this browser’s push service.",
};

/** What elements say of a service that was not there. */
const outages = new Map();

/** Shows why something failed. If the service was not there, that stands only until it is. */
export function showFailure(element, error) {
  const text = sentence(error);
  show(element, text);
  if (error instanceof Refusal && error.isOutage) outages.set(element, text);
}

/** The same for what belongs to the page as a whole. */
export const complainOf = (error) => showFailure(find("problem"), error);

/** The service is there again. */
export function forgetOutages() {
  // An element may say something else by now.
  for (const [element, text] of outages) if (element.textContent === text) show(element, null);
  outages.clear();
}

/** A sentence for an error. */
export function sentence(error) {
  if (!(error instanceof Refusal)) return `That did not work: ${error.message ?? error}`;
  if (words[error.reason]) return words[error.reason];
  return error.isOutage
    ? "The service does not work at the moment. Try again in a moment."
    : `The service refused that (${error.reason}).`;
}
