// What a refusal means for who holds the phone, and what to do next.
import "./shared.js";

const { Refusal } = globalThis.iampass;

const words = {
  UNREACHABLE: "The service cannot be reached. Look at this phone’s network, then try again.",
  STOPPING: "The service is being restarted. Try again in a moment.",
  STORAGE_UNAVAILABLE: "The service cannot write at the moment. Try again in a moment.",
  TIMESTAMP_OUTSIDE_WINDOW: "This phone’s clock is wrong. Set it, then try again.",
  UNKNOWN_LINK: "This link is not known. Ask for a new one.",
  LINK_USED: "This link was used already. Ask for a new one.",
  LINK_EXPIRED: "This link is too old. Ask for a new one.",
  HAS_MOBILE_DEVICE: "This user has a phone already. If it is lost, ask your administrator for a link that replaces it.",
  TOO_MANY_FAILURES: "Too many wrong tries from this network. Wait some minutes.",
  UNKNOWN_DEVICE: "The service does not know this phone any more.",
  DEVICE_CUT_OFF: "This phone was cut off: another one took its place, or it was reported as lost.",
  WRONG_ORIGIN: "This phone was registered at another address of the service. Ask for a new link.",
  ALREADY_ANSWERED: "That was answered already.",
  TOO_LATE: "That came too late: nobody waits for it any more.",
  UNKNOWN_REQUEST: "Nobody waits for that any more.",
  WRONG_CODE: "The digits were wrong, so the request was denied.",
  WRONG_CONTEXT: "What was shown is not what was asked. Nothing was approved.",
  CODE_MISSING: "Type the digits that the computer shows.",
  WRONG_METHOD: "This must be answered in another way. Load the page again.",
  ASSERTION_MISSING: "This needs the phone’s screen lock.",
  ASSERTION_REFUSED: "The service did not accept the screen lock’s word. Nothing was approved.",
  BAD_CREDENTIAL: "The service did not accept this phone’s screen lock.",
  BAD_SUBSCRIPTION: "The service cannot reach this browser’s push service.",
};

/** A sentence for an error. */
export function sentence(error) {
  if (!(error instanceof Refusal)) return `That did not work: ${error.message ?? error}`;
  if (words[error.reason]) return words[error.reason];
  return error.isOutage
    ? "The service does not work at the moment. Try again in a moment."
    : `The service refused that (${error.reason}).`;
}
