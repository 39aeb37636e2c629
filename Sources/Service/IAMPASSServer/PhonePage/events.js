// The events of one account: server-sent events over fetch, since EventSource cannot send a signed request.
import "./shared.js";

const { askFor, Refusal } = globalThis.iampass;

/** Milliseconds. The service sends something every 15 s; a stream that is silent for longer is dead. */
const silence = 45_000;
/** Milliseconds of silence after which a phone that wakes up opens a new stream at once. */
const doubtful = 20_000;
const firstPause = 1_000;
const longestPause = 30_000;

/** Takes a stream of text apart into events, as in HTML's "interpreting an event stream". */
class EventReader {
  #rest = "";
  #name = "message";
  #data = [];

  /** The events that are complete with this text. */
  read(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    return lines.flatMap((line) => this.#take(line.replace(/\r$/, "")));
  }

  #take(line) {
    if (line === "") {
      const event = { name: this.#name, data: this.#data.join("\n") };
      const isEmpty = this.#data.length === 0;
      this.#name = "message";
      this.#data = [];
      return isEmpty ? [] : [event];
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === "event") this.#name = value;
    if (field === "data") this.#data.push(value);
    return [];
  }
}

/** Keeps a stream open until it is stopped, or the phone is cut off. */
export class EventStream {
  #account;
  #handlers;
  #stopped = false;
  #abort = null;
  #wake = null;
  #heard = 0;

  /**
   * @param handlers `event(name, value)`, `state("open" | "waiting" | "unknown")`, and `cutOff(reason)`, which is the last
   *   call.
   */
  constructor(account, handlers) {
    this.#account = account;
    this.#handlers = handlers;
    void this.#run();
  }

  stop() {
    this.#stopped = true;
    this.hurry();
    this.#abort?.abort();
  }

  /** Tries again now: the network or the user is back. */
  hurry() {
    this.#wake?.();
    if (this.#abort && Date.now() - this.#heard > doubtful) this.#abort.abort();
  }

  async #run() {
    let pause = firstPause;
    while (!this.#stopped) {
      try {
        await this.#follow(() => (pause = firstPause));
      } catch (error) {
        if (this.#stopped) return;
        const reason = error instanceof Refusal ? error.reason : null;
        if (reason === "DEVICE_CUT_OFF") {
          this.#handlers.cutOff(reason);
          return;
        }
        // Everybody is told so, for example by a service that was started without its data. The key stays good.
        if (reason === "UNKNOWN_DEVICE") pause = longestPause;
        this.#handlers.state(reason === "UNKNOWN_DEVICE" ? "unknown" : "waiting");
      }
      if (this.#stopped) return;
      await this.#rest(pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, longestPause);
    }
  }

  /** One stream, until it ends. */
  async #follow(onEvent) {
    this.#abort = new AbortController();
    let timer = null;
    const alive = () => {
      this.#heard = Date.now();
      clearTimeout(timer);
      timer = setTimeout(() => this.#abort?.abort(), silence);
    };
    try {
      alive();
      const options = { signal: this.#abort.signal, headers: { Accept: "text/event-stream" } };
      const response = await askFor(this.#account, "events", "events", { known: [] }, options);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const events = new EventReader();
      this.#handlers.state("open");
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        alive();
        for (const event of events.read(value)) {
          onEvent();
          this.#handlers.event(event.name, JSON.parse(event.data));
        }
      }
    } finally {
      clearTimeout(timer);
      this.#abort = null;
    }
  }

  #rest(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
