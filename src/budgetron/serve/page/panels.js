// The parts of the page that are not curves: tiles, confusion matrix, events.
import { at, brief, bytes, clock, count, figure, make, percent } from "./text.js";

const MOST_NOTICES = 100, COLUMNS_SHOWN = 8;

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

// Classes that few rows have: accuracy says nothing of them.
export function showRare(rare) {
  at("rare").hidden = !rare?.length;
  if (!rare?.length) return;
  const names = ["class", "share", "recall", "precision", "average precision"];
  const head = make("tr", {}, ...names.map((textContent) => make("th", { scope: "col", textContent })));
  const lines = rare.map(({ label, running, window }) => make("tr", {}, make("th", { scope: "row", textContent: String(label), title: String(label) }),
    ...[running.share, window.recall, window.precision, window.average_precision].map((value) => make("td", { textContent: percent(value) }))));
  at("rares").replaceChildren(make("thead", {}, head), make("tbody", {}, ...lines));
}

// The share of each column in what the model has learned.
export function showImportances({ columns, other_columns: others }) {
  at("columns").hidden = !columns.length;
  const most = Math.max(...columns.map((each) => each.share), 1e-12);
  const lines = columns.slice(0, COLUMNS_SHOWN).map(({ column, share }) => {
    const bar = make("i");
    bar.style.setProperty("--share", 100 * share / most + "%");
    return make("li", {}, make("span", { textContent: column, title: column }), bar, make("b", { textContent: percent(share) }));
  });
  const rest = others + columns.slice(COLUMNS_SHOWN).reduce((sum, each) => sum + each.share, 0);
  if (rest > 0) lines.push(make("li", { className: "muted" }, `other columns ${percent(rest)}`));
  at("importances").replaceChildren(...lines);
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
  "roll back": (said) => `Rolled back to row ${count(said.to)}` + (said.replayed ? `, ${count(said.replayed)} rows learned again` : ""),
  reset: () => "Reset: nothing is learned any more",
  "add challenger": (said) => `Challenger ${said.challenger} learns from here on`,
  "remove challenger": (said) => `Challenger ${said.challenger} is removed`,
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

// A short name for each expert of a learner, from its description.
export function expertNames(learner) {
  while (learner && !learner.learners) learner = learner.learner;
  return (learner?.learners.of || []).map((each) => {
    const maps = each.features?.maps?.of || [each.features];
    const first = maps[0]?.type === "Recruited" ? maps[0] : maps[0]?.features || maps[0];
    const names = { Identity: "linear", RandomFourier: "Fourier", SparseFourier: "sparse Fourier", Recruited: "recruited tiles",
      Tiles: "tiles", Bins: "bins", Neighbours: "neighbours", Kernelized: "support vectors" };
    const type = (first || each).type;
    const kind = names[type] || type;
    return kind + (each.rule?.drift ? ", forgets" : "");
  }).map((name, i, all) => (all.indexOf(name) === all.lastIndexOf(name) ? name : `${name} ${i + 1}`));
}

export const about = (said) => [
  said.task, typeof said.learner === "object" ? said.learner.type : "", said.columns ? `${count(said.columns)} columns` : "",
  `log ${bytes(said.log_bytes)}`, `snapshot at row ${count(said.snapshot_version)}`, said.replica ? "replica of " + said.leader : "",
].filter(Boolean).join(" · ");
