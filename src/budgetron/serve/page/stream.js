// Server-sent events, read with fetch, since an EventSource cannot send a token.
// A lost connection is opened again, and the service continues after the last event that arrived.

const SILENCE = 40000; // the service sends a comment every 15 s
const FIRST_PAUSE = 500, LONGEST_PAUSE = 4000;

export class Answered extends Error {} // the service answered that it will not
export class Refused extends Answered {} // because of the token

// The answer of the service, or an error with its sentence.
export async function ask(url, options = {}) {
  const answer = await fetch(url, Object.assign({ cache: "no-store" }, options));
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const sentence = problem.detail || "the service answered " + answer.status + ".";
  throw new (answer.status === 401 || answer.status === 403 ? Refused : Answered)(sentence);
}

// Calls on.event(kind, data), on.connected(), on.lost(why) until the signal aborts or a token is refused: on.refused(why).
// `last` is the version of the last event that arrived before.
export async function follow(url, headers, last, signal, on) {
  let pause = FIRST_PAUSE;
  const take = (text) => {
    const event = {};
    for (const line of text.split("\n")) {
      const colon = line.indexOf(": ");
      if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (event.id) last = Number(event.id);
    if (event.data) on.event(event.event, JSON.parse(event.data));
  };
  while (!signal.aborted) {
    let why = "";
    const silent = new AbortController();
    let timer;
    const hear = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE);
    };
    try {
      hear();
      const options = { headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": String(last) } };
      const answer = await ask(url, { ...options, signal: AbortSignal.any([signal, silent.signal]) });
      on.connected();
      pause = FIRST_PAUSE;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        hear();
        const events = (text + value).split("\n\n");
        text = events.pop();
        events.forEach(take);
      }
    } catch (error) {
      if (error instanceof Refused) return on.refused(error.message);
      if (error instanceof Answered) why = error.message;
    } finally {
      clearTimeout(timer);
    }
    if (signal.aborted) return undefined;
    on.lost(why);
    await new Promise((resolve) => { setTimeout(resolve, pause); });
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
  return undefined;
}
