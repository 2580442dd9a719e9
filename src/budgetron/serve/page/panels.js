// The parts of the page that are not curves: tiles, confusion matrix, events, the answer of the form.
import { at, brief, bytes, clock, count, figure, make, percent } from "./text.js";

const MOST_NOTICES = 100;

// A number with its name, and a second line. All tiles exist from the start, so nothing moves.
export class Tiles {
  constructor(names) {
    this.parts = Object.fromEntries(names.map((name) => {
      const parts = { name: make("dt"), value: make("dd", { textContent: "–" }), more: make("dd", { className: "muted" }) };
      at("tiles").append(make("div", { id: "tile-" + name }, parts.name, parts.value, parts.more));
      return [name, parts];
    }));
  }

  set(tile, name, value, more = "", title = "") {
    const parts = this.parts[tile];
    parts.name.textContent = name;
    parts.value.textContent = value;
    parts.more.textContent = more;
    parts.name.parentElement.title = title;
  }
}

export function hideConfusion() {
  at("confusion").replaceChildren(make("p", { className: "muted", textContent: "Shown after the first rows, for up to 50 classes." }));
}

// Rows are labels, columns are predictions. The colour of a cell is its share of the row.
export function showConfusion({ classes, counts, of }) {
  const table = make("table");
  const label = (each) => make("th", { textContent: String(each), title: String(each) });
  const head = table.createTHead().insertRow();
  head.append(make("th", { className: "corner", textContent: "label ↓ said →" }));
  classes.forEach((each) => head.append(Object.assign(label(each), { scope: "col" })));
  head.append(make("th", { textContent: "wrong", scope: "col" }));
  const body = table.createTBody();
  counts.forEach((row, i) => {
    const line = body.insertRow();
    const total = row.reduce((sum, value) => sum + value, 0);
    line.append(Object.assign(label(classes[i]), { scope: "row" }));
    row.forEach((value, j) => {
      const cell = make("td", { className: i === j ? "right" : "wrong", textContent: value ? brief(value) : "·", title: count(value) });
      cell.style.setProperty("--share", total ? (45 * value / total).toFixed(1) + "%" : "0%");
      line.append(cell);
    });
    line.append(make("td", { className: "rate", textContent: total ? percent(1 - row[i] / total) : "–" }));
  });
  const note = of > classes.length ? [make("p", { className: "muted", textContent: `The ${classes.length} most frequent of ${of} classes.` })] : [];
  at("confusion").replaceChildren(table, ...note);
}

const REFUSALS = { malformed: "the body cannot be read", "bad-row": "a bad row", busy: "the queue is full", "too-large": "too large",
  "nothing-learned": "nothing is learned yet", "learning-stopped": "learning has stopped", "unknown-id": "no such kept row",
  "key-reused": "a key of another request", "media-type": "an unknown content type" };
const COLUMNS = 3; // of an alarm, that are named
const change = ({ before, now }) => `${percent(before)} to ${percent(now)}`;
const columnChange = (said) => said.column + {
  missing: `: missing ${change(said)}`,
  unseen: `: unseen values ${change(said)}`,
  level: `: above ${brief(said.above)} ${change(said)}`,
  spread: `: outer values ${change(said)}`,
  texts: `: a text ${change(said)}`,
}[said.what];
const DRIFTS = {
  errors: (said) => (said.above === undefined ? `the error rose from ${change(said)}` : `errors above ${brief(said.above)} rose from ${change(said)}`),
  labels: (said) => `labels${said.label === undefined ? "" : " " + said.label} went from ${change(said)}`,
  predictions: (said) => `predictions${said.label === undefined ? "" : " " + said.label} went from ${change(said)}`,
  experts: (said) => `the weight of expert ${said.expert + 1} went from ${change(said)}`,
  inputs: ({ columns, n_columns: all }) => columns.slice(0, COLUMNS).map(columnChange).join("; ")
    + (all > COLUMNS ? `; and ${all - COLUMNS} more columns` : ""),
};
const SENTENCES = {
  drift: (said) => `Drift: ${DRIFTS[said.of](said)}`,
  "rows dropped": ({ dropped }) => `${dropped} rows were dropped before their labels came`,
  snapshot: () => "Snapshot saved",
  "new class": (said) => (said.classes.length > 1 ? "New classes: " : "New class: ") + said.classes.join(", "),
  stopped: (said) => "Learning stopped: " + said.why,
  "snapshot failed": (said) => "Snapshot failed: " + said.why,
  refused: (said) => `Refused ${said.times > 1 ? said.times + " requests" : "a request"}: ${REFUSALS[said.why] || said.why}`,
};

// The events that were told, the newest first. A reconnect may repeat some.
export class Notices {
  constructor() {
    this.clear();
  }

  clear() {
    this.known = new Set();
    this.all = [];
    at("notices").replaceChildren(make("li", { className: "muted", textContent: "None so far." }));
  }

  add(said) {
    const key = said.number + " " + said.at;
    if (this.known.has(key)) return;
    if (!this.all.length) at("notices").replaceChildren();
    this.known.add(key);
    this.all.push(said);
    const sentence = (SENTENCES[said.what] || (() => said.what))(said);
    const kind = { drift: "alarm", stopped: "alarm", "snapshot failed": "alarm", refused: "warned" }[said.what] || "";
    const line = make("li", { className: kind }, make("time", { textContent: clock(said.at) }),
      make("span", { textContent: sentence }), make("small", { className: "muted", textContent: "row " + count(said.version) }));
    at("notices").prepend(line);
    if (this.all.length > MOST_NOTICES) {
      const gone = this.all.shift();
      this.known.delete(gone.number + " " + gone.at);
      at("notices").lastChild.remove();
    }
  }
}

// The prediction of one record, with its probabilities.
export function showAnswer(answer, regression) {
  const said = answer.predictions[0];
  const parts = [make("p", { className: "said" }, regression ? figure(said) : String(said))];
  if (answer.probabilities) {
    const pairs = answer.classes.map((each, i) => [each, answer.probabilities[0][i]]).sort((a, b) => b[1] - a[1]);
    parts.push(make("ul", { className: "bars" }, ...pairs.slice(0, 8).map(([each, share]) => {
      const bar = make("i");
      bar.style.setProperty("--share", 100 * share + "%");
      return make("li", {}, make("span", { textContent: String(each), title: String(each) }), bar, make("b", { textContent: percent(share) }));
    })));
    if (pairs.length > 8) parts.push(make("p", { className: "muted", textContent: `and ${pairs.length - 8} more classes` }));
  }
  parts.push(make("p", { className: "muted", textContent: `by the model of ${count(answer.version)} rows` }));
  at("answer").className = "";
  at("answer").replaceChildren(...parts);
}

export function showProblem(sentence) {
  at("answer").className = "problem";
  at("answer").replaceChildren(make("p", { textContent: sentence }));
}

// A record as the service takes it: {"x": {...}}, or the record itself.
export function recordOf(text) {
  let said;
  try {
    said = JSON.parse(text);
  } catch (error) {
    throw new Error("This is not JSON: " + error.message);
  }
  if (said === null || typeof said !== "object") throw new Error('Expected a record, such as {"amount": 5, "country": "DE"}.');
  return JSON.stringify(!Array.isArray(said) && typeof said.x === "object" ? { x: said.x } : { x: said });
}

// A short name for each expert of a learner, from its description.
export function expertNames(learner) {
  while (learner && !learner.learners) learner = learner.learner;
  return (learner?.learners.of || []).map((each) => {
    const maps = each.features?.maps?.of || [each.features];
    const first = maps[0]?.features || maps[0];
    const names = { Identity: "linear", RandomFourier: "Fourier", SparseFourier: "sparse Fourier" };
    const kind = first ? names[first.type] || first.type : "support vectors";
    return kind + (each.rule?.drift ? ", forgets" : "");
  }).map((name, i, all) => (all.indexOf(name) === all.lastIndexOf(name) ? name : `${name} ${i + 1}`));
}

export const about = (said) => [
  said.task, typeof said.learner === "object" ? said.learner.type : "", said.columns ? `${count(said.columns)} columns` : "",
  `log ${bytes(said.log_bytes)}`, `snapshot at row ${count(said.snapshot_version)}`, said.replica ? "replica of " + said.leader : "",
].filter(Boolean).join(" · ");
