// Models that learn the same rows: their errors by window, their figures, and which is better.
import { Chart, Columns } from "./charts.js";
import { at, brief, bytes, count, decimal, figure, make, percent, seconds, wholePercent } from "./text.js";

const MOST = 8;
const columns = new Columns(["version", ...Array.from({ length: MOST }, (_, i) => "model" + i)]);
let chart = null;

export const redrawComparison = () => chart?.build();

// `known`: the answer of /comparison; with less than two models there is nothing to compare.
export function showComparison(known, champion) {
  const models = known?.models || [], names = models.map((each) => each.name);
  if (!names.includes(champion)) [champion] = names; // the alias is of a model that learns other rows
  at("compare").hidden = names.length < 2;
  if (names.length < 2) return;
  const targets = known.error !== "rate of mistakes";
  const write = targets ? figure : percent;
  chart ||= new Chart(at("versus"), columns, [], { title: "Beside each other", note: "", format: write, axis: brief, height: 220 });
  const key = [...names, champion, known.windows.rows].join("\n");
  if (chart.key !== key) {
    Object.assign(chart, { key });
    chart.name("Beside each other", `${known.error}, by window of ${count(known.windows.rows)} rows`, write, targets ? brief : wholePercent);
    chart.use(names.slice(0, MOST).map((name, i) => (
      { name: name === champion ? name + " (champion)" : name, column: "model" + i, colour: "--expert-" + (i + 2 > 8 ? 1 : i + 2), width: 2, spanGaps: true })));
  }
  columns.clear();
  known.windows.ends.forEach((version, window) => {
    columns.push({ version, ...Object.fromEntries(names.slice(0, MOST).map((name, i) => ["model" + i, models[i].windows.error?.[window]])) });
  });
  chart.draw();
  at("rivals").replaceChildren(head(targets), make("tbody", {}, ...models.map((each) => line(each, write, targets))));
  at("verdicts").replaceChildren(...known.tests.filter((each) => each.rows && (names.length < 4 || each.models.includes(champion))).map(verdict));
}

function head(targets) {
  const names = ["model", "error", ...(targets ? [] : ["log loss"]), "last 1,000", "time a row", "memory", "refused"];
  return make("thead", {}, make("tr", {}, ...names.map((textContent) => make("th", { scope: "col", textContent }))));
}

function line(known, write, targets) {
  const { rate, mae } = known.recent || {};
  const values = [write(known.error), ...(targets ? [] : [decimal(known.log_loss)]), write(targets ? mae : rate), seconds(known.seconds), bytes(known.bytes), count(known.refused)];
  return make("tr", {}, make("th", { scope: "row", textContent: known.name }), ...values.map((textContent) => make("td", { textContent })));
}

// One sentence for each two models and each measure.
function verdict({ models: [one, other], measure, better, difference, interval, decided_after: after }) {
  const worse = better === one ? other : one;
  const [low, high] = interval.map(brief);
  const by = `the mean difference ${one} − ${other} is ${brief(difference)}, between ${low} and ${high}`;
  const said = better === null ? `No difference between ${one} and ${other} is proved yet` : `${better} is better than ${worse}, known after ${count(after)} rows`;
  return make("li", { className: better === null ? "" : "proved" }, make("b", { textContent: measure.replace("_", " ") + ": " }), `${said}; ${by}.`);
}
