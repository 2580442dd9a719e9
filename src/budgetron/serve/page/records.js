// The prediction form: a field for each column of the model, or JSON; the answer, and why.
import { at, brief, count, figure, make, percent } from "./text.js";

const MOST_FIELDS = 30;

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

// Fields for the columns of a model. They write the record, which can be edited as JSON too.
export function showFields(columns) {
  const key = JSON.stringify(columns || []);
  if (at("fields").dataset.key === key) return;
  at("fields").dataset.key = key;
  const shown = (columns || []).slice(0, MOST_FIELDS);
  at("fields").replaceChildren(...shown.map(({ name, kind, values }, i) => {
    const input = make("input", { name, autocomplete: "off", spellcheck: false, placeholder: kind || "" });
    const parts = [make("span", { textContent: name, title: name }), input];
    if (values.length) {
      const list = make("datalist", { id: "values-" + i }, ...values.map((value) => new Option(value, value)));
      input.setAttribute("list", list.id);
      parts.push(list);
    }
    input.addEventListener("input", write);
    return make("label", {}, ...parts);
  }));
  at("fields").hidden = !shown.length;
  if (columns?.length > MOST_FIELDS) at("fields").append(make("p", { className: "muted", textContent: `and ${columns.length - MOST_FIELDS} more columns: write them as JSON` }));
}

// What is written in the fields, as a record; empty ones are left out. Numbers stay as they were typed otherwise.
function write() {
  const record = {};
  for (const { name, value } of at("fields").querySelectorAll("input")) {
    const text = value.trim();
    if (text) record[name] = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? Number(text) : text;
  }
  at("record").value = JSON.stringify(record);
}

const bar = (share, className = "") => {
  const made = make("i", { className });
  made.style.setProperty("--share", Math.max(0, Math.min(100, 100 * share)) + "%");
  return made;
};

function shares(answer) {
  const pairs = answer.classes.map((each, i) => [each, answer.probabilities[0][i]]).sort((a, b) => b[1] - a[1]);
  const list = make("ul", { className: "bars" }, ...pairs.slice(0, 8).map(([each, share]) => (
    make("li", {}, make("span", { textContent: String(each), title: String(each) }), bar(share), make("b", { textContent: percent(share) })))));
  return pairs.length > 8 ? [list, make("p", { className: "muted", textContent: `and ${pairs.length - 8} more classes` })] : [list];
}

// What moved the score away from that of the rows it is compared with: a bar for each column, by size.
function reasons(why) {
  const most = Math.max(...why.columns.map((each) => Math.abs(each.contribution)), 1e-12);
  const list = make("ul", { className: "bars why" }, ...why.columns.slice(0, 8).map(({ column, value, contribution, error }) => {
    const name = `${column} = ${value === null ? "missing" : typeof value === "number" ? brief(value) : value}`;
    const sure = error ? ` ± ${figure(error)}` : "";
    return make("li", {}, make("span", { textContent: name, title: name }), bar(Math.abs(contribution) / most, contribution < 0 ? "against" : ""),
      make("b", { textContent: (contribution > 0 ? "+" : "") + brief(contribution), title: sure }));
  }));
  const what = why.label === undefined ? "the prediction" : `the score of ${why.label}`;
  const from = `What moved ${what} from ${figure(why.baseline)}, of rows as usual, to ${figure(why.score)}`;
  return [make("h3", { textContent: "Why" }), make("p", { className: "muted", textContent: from }), list, ...nearest(why.neighbours || [])];
}

function nearest(rows) {
  if (!rows.length) return [];
  const said = rows.slice(0, 3).map(({ label, distance, values }) => {
    const columns = Object.entries(values).slice(0, 4).map(([name, value]) => `${name} ${typeof value === "number" ? brief(value) : value}`);
    return make("li", { textContent: `${label === undefined ? "" : label + ": "}${columns.join(", ")} (distance ${figure(distance)})` });
  });
  return [make("h3", { textContent: "Most like it" }), make("ol", { className: "muted" }, ...said)];
}

const unlike = (novelty) => (novelty > 0.99 ? "unlike nearly all rows learned" : novelty > 0.9 ? "unusual" : "like the rows learned");

// The prediction of one record, with what else the service says of it.
export function showAnswer(answer, regression) {
  const said = answer.predictions[0];
  const parts = [make("p", { className: "said" }, regression ? figure(said) : String(said))];
  if (answer.probabilities) parts.push(...shares(answer));
  if (answer.novelty) parts.push(make("p", {}, `Novelty ${percent(answer.novelty[0])}: `, make("b", { textContent: unlike(answer.novelty[0]) })));
  if (answer.explanations) parts.push(...reasons(answer.explanations[0]));
  parts.push(make("p", { className: "muted", textContent: `by the model of ${count(answer.version)} rows` }));
  at("answer").className = "";
  at("answer").replaceChildren(...parts);
}

export function showProblem(sentence) {
  at("answer").className = "problem";
  at("answer").replaceChildren(make("p", { textContent: sentence }));
}
