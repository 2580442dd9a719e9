// The page: follows the events of one model, asks for /metrics now and then, and draws both.
import { Chart, Columns } from "./charts.js";
import { redrawComparison, showComparison } from "./compare.js";
import { histogram, of, parse, quantile, refused } from "./numbers.js";
import { Actions, showCards, showSnapshots } from "./models.js";
import { about, expertNames, hideConfusion, Notices, showConfusion, showImportances, showRare, Tiles } from "./panels.js";
import { recordOf, showAnswer, showFields, showProblem } from "./records.js";
import { ask, follow, Refused } from "./stream.js";
import { at, brief, bytes, count, decimal, figure, percent, seconds, wholePercent } from "./text.js";

const POLL = 2000;
const EXPERTS = 12, COLOURS = 8;
const curves = new Columns(["version", "at", "window", "running", "last", "frequent", "loss", "allLoss",
  ...Array.from({ length: EXPERTS }, (_, i) => "expert" + i)]);
const service = new Columns(["at", "rate", "predicts", "half", "most", "commit", "commitMost", "queue", "resident", "model", "vectors", "columns"]);
const notices = new Notices();
const tiles = new Tiles(["window", "running", "loss", "rows", "latency", "queue", "memory", "refused"]);

let token = sessionStorage.getItem("token") || "";
const named = () => new URLSearchParams(location.hash.slice(1)).get("model") || "default";
let model = named();
let stopped = new AbortController();
let now = {}; // the last point, the last numbers, and what was measured before
const headers = () => (token ? { Authorization: "Bearer " + token } : {});
const path = (what) => `v1/models/${encodeURIComponent(model)}/${what}`;

// ---- charts

const MARKED = { drift: "--alarm", stopped: "--alarm", "roll back": "--third", reset: "--third", "add challenger": "--grey" };
const marks = () => notices.all.filter((each) => each.what in MARKED).map(({ version, at: time, what, of }) => (
  { version, at: time, text: what === "drift" ? `drift: ${of}` : what, colour: MARKED[what] }));
const error = new Chart(at("error"), curves, [
  { name: "last 1,000 rows", column: "window", colour: "--first", width: 2.5 },
  { name: "all rows", column: "running", colour: "--second", width: 1.5 },
  { name: "baseline: last label", column: "last", colour: "--third", dash: [6, 4] },
  { name: "baseline: most frequent label", column: "frequent", colour: "--grey", dash: [2, 3] },
], { title: "Error", note: "", format: percent, axis: wholePercent, height: 300, marks });
const loss = new Chart(at("loss"), curves, [
  { name: "last 1,000 rows", column: "loss", colour: "--first", width: 2 },
  { name: "all rows", column: "allLoss", colour: "--second" },
], { title: "Log loss", note: "", format: decimal, axis: brief, height: 200, marks });
const experts = new Chart(at("experts"), curves, [], {
  title: "Experts", note: "weights in the vote", format: decimal, axis: brief, height: 200, fromZero: false, marks });
const small = (id, title, note, format, series) =>
  new Chart(at(id), service, series, { title, note, format, height: 130 });
const charts = [error, loss, experts,
  small("rate", "Throughput", "rows a second", brief, [
    { name: "learned", column: "rate", colour: "--first", fill: "--veil", since: true },
    { name: "predicted", column: "predicts", colour: "--third", since: true }]),
  small("latency", "Predict requests", "time without the network", seconds, [
    { name: "half", column: "half", colour: "--first", spanGaps: true },
    { name: "99 %", column: "most", colour: "--third", spanGaps: true }]),
  small("commit", "Commit", "time to the disk", seconds, [
    { name: "half", column: "commit", colour: "--first", spanGaps: true },
    { name: "99 %", column: "commitMost", colour: "--third", spanGaps: true }]),
  small("queue", "Queue", "rows that wait to be learned", brief, [
    { name: "rows", column: "queue", colour: "--first", fill: "--veil" }]),
  small("memory", "Memory", "", bytes, [
    { name: "model", column: "model", colour: "--first" },
    { name: "process", column: "resident", colour: "--grey" }]),
  small("size", "Size of the model", "", brief, [
    { name: "support vectors", column: "vectors", colour: "--first" },
    { name: "columns", column: "columns", colour: "--third" }]),
];

let due = false;
function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    charts.forEach((each) => each.draw());
    tell();
  });
}

// ---- what arrives

const targets = () => now.point && "mae" in now.point.window;

function setKind(kind) {
  if (now.kind === kind) return;
  now.kind = kind;
  const regression = kind === "regression";
  const unit = "in the unit of the target";
  error.name("Error", regression ? "root mean squared, " + unit : "rows predicted wrongly before they were learned",
    regression ? figure : percent, regression ? brief : wholePercent);
  loss.name(regression ? "Absolute error" : "Log loss", regression ? "mean, " + unit : "of the probabilities", regression ? figure : decimal, brief);
  error.use(error.series.map((each) => (each.column === "frequent"
    ? { ...each, name: regression ? "baseline: mean" : "baseline: most frequent label" }
    : each.column === "last" ? { ...each, name: regression ? "baseline: last target" : "baseline: last label" } : each)));
  at("mistakes").hidden = regression;
}

function setExperts(weights) {
  const many = Math.min(weights?.length || 0, EXPERTS);
  at("experts").hidden = !many;
  if (!many || (experts.series.length === many && now.named)) return;
  const names = expertNames(now.description?.fitted_learner);
  now.named = names.length > 0;
  experts.use(Array.from({ length: many }, (_, i) => (
    { name: names[i] || "expert " + (i + 1), column: "expert" + i, colour: "--expert-" + (1 + i % COLOURS), dash: i < COLOURS ? undefined : [5, 3] })));
}

function progress(point) {
  if (now.point && point.version < now.point.version) clear(); // the folder of the service is another one
  now.point = point;
  at("empty").hidden = true;
  setKind(targets() ? "regression" : "classification");
  const { window, running, baselines } = point;
  const as = targets() ? (value) => (value === null ? null : Math.sqrt(value)) : (value) => value;
  const row = { version: point.version, at: Math.max(point.at, curves.last("at") || 0), window: as(window.rate), running: as(running.rate),
    last: as(baselines.last.window), frequent: as(baselines.frequent.window),
    loss: targets() ? window.mae : window.log_loss, allLoss: targets() ? running.mae : running.log_loss };
  (point.expert_weights || []).slice(0, EXPERTS).forEach((value, i) => { row["expert" + i] = value; });
  curves.push(row);
  at("loss").hidden = row.loss === undefined || row.loss === null;
  setExperts(point.expert_weights);
  if (!now.numbers) remember(point);
  redraw();
}

// The curves of the service before the page was opened: what the points tell.
function remember(point) {
  const before = now.remembered;
  if (before && point.at - before.at < 1) return;
  const rate = before ? (point.version - before.version) / (point.at - before.at) : null;
  service.push({ at: point.at, rate, queue: point.queue_rows, model: point.model_bytes, commit: point.commit_seconds,
    vectors: point.support_vectors, columns: point.columns });
  now.remembered = point;
}

function measured(found, time) {
  const value = (name) => of(found, name, model);
  const stream = value("queue_rows") === undefined ? now.description?.challenger_of : model;
  if (stream === undefined) return; // until it is known whose challenger it is
  const shared = (name) => of(found, name, stream); // what a model has once for itself and its challengers
  const before = now.numbers, clockNow = performance.now();
  const took = before ? (clockNow - before.when) / 1000 : null;
  const counts = { rows: value("rows_learned_total") || 0, predictions: value("predictions_total") || 0,
    predict: histogram(found, "predict_seconds", model), commit: histogram(found, "commit_seconds", stream),
    refused: refused(found, model), when: clockNow };
  const since = (name) => (before ? Math.max(counts[name] - before[name], 0) / took : null); // 0 after a restart
  const share = (name, part) => (before ? quantile(before[name], counts[name], part) : null);
  const row = { at: Math.max(time, (service.last("at") || 0) + 0.001), rate: since("rows"), predicts: since("predictions"),
    half: share("predict", 0.5), most: share("predict", 0.99), commit: share("commit", 0.5), commitMost: share("commit", 0.99),
    queue: shared("queue_rows"), resident: value("resident_memory_bytes"), model: value("model_bytes"),
    vectors: value("support_vectors"), columns: now.point?.columns };
  now.latency = quantile([], counts.predict, 0.99) === null ? null
    : [quantile([], counts.predict, 0.5), quantile([], counts.predict, 0.99)];
  now.commits = quantile([], counts.commit, 0.5);
  if (before) service.push(row);
  for (const [why, times] of Object.entries(counts.refused)) {
    const more = times - (before?.refused[why] || 0);
    if (before && more > 0) {
      notices.add({ what: "refused", why, times: more, at: time, version: now.point?.version || 0, number: why + times });
    }
  }
  now.numbers = counts;
  now.learning = shared("learning");
  now.snapshotAge = shared("snapshot_age_seconds");
  redraw();
}

function tell() {
  const { point, numbers } = now, rows = count(Math.min(point?.window.rows ?? 1000, 1000));
  const write = targets() ? figure : percent;
  const value = (name) => curves.last(name);
  const baselines = targets() ? ["last target", "mean"] : ["last label", "most frequent"];
  tiles.set("window", `Error, last ${rows} rows`, write(value("window")), `${baselines[0]} ${write(value("last"))}`);
  tiles.set("running", "Error, all rows", write(value("running")), `${baselines[1]} ${write(value("frequent"))}`);
  if (targets()) tiles.set("loss", `Explained, last ${rows}`, percent(point.window.r2), `absolute error ${figure(value("loss"))}`);
  else tiles.set("loss", `Log loss, last ${rows}`, decimal(value("loss")), `all rows ${decimal(value("allLoss"))}`);
  tiles.set("rows", "Rows learned", count(point?.version ?? numbers?.rows), `${brief(service.last("rate"))} a second`);
  tiles.set("latency", "Predict, 99 %", seconds(now.latency?.[1]), `half within ${seconds(now.latency?.[0])}`, "since the service started");
  tiles.set("queue", "Queue", count(service.last("queue") ?? point?.queue_rows), `commit ${seconds(now.commits)}`);
  tiles.set("memory", "Memory of the model", bytes(point?.model_bytes), `process ${bytes(service.last("resident"))}`);
  const times = Object.values(numbers?.refused || {}).reduce((sum, each) => sum + each, 0);
  tiles.set("refused", "Refused requests", numbers ? count(times) : "–", "since the start");
}

// ---- connections

function say(state, text) {
  at("state").dataset.state = state;
  if (at("state").textContent !== text) at("state").textContent = text;
}

function refuse(why) {
  stopped.abort();
  say("refused", "Not connected");
  at("refusal").textContent = token ? `The service refused this token: ${why} Check it, and try again.` : "";
  at("refusal").hidden = !token;
  at("access").hidden = false;
  at("token").setAttribute("aria-invalid", String(Boolean(token)));
  at("token").focus();
  at("token").select();
}

async function poll(signal) {
  while (!signal.aborted) {
    try {
      const answer = await ask("metrics", { headers: headers(), signal });
      const time = (Date.parse(answer.headers.get("Date")) || Date.now()) / 1000;
      measured(parse(await answer.text()), time);
      await describe(signal);
    } catch (error) {
      if (error instanceof Refused) return;
    }
    await new Promise((resolve) => { setTimeout(resolve, POLL); });
  }
}

const actions = new Actions(() => ({
  model,
  headers: headers(),
  description: now.description,
  changed: () => { now.description = now.kept = undefined; },
  gone: (name = "default") => choose(name),
}));

function choose(name) {
  location.hash = "model=" + encodeURIComponent(name);
}

let turn = 0;
async function describe(signal) {
  turn += 1;
  const wanted = now.learning === 0 || !now.description || (now.point && !now.description.fitted_learner);
  if (!wanted && turn % 5) return;
  const list = await (await ask("v1/models?figures=1", { headers: headers(), signal })).json();
  choices(list.models.map((each) => each.name));
  showCards(list, model, choose);
  now.description = await (await ask(path("model"), { headers: headers(), signal })).json();
  at("about").textContent = about(now.description);
  at("trouble").hidden = now.description.learning;
  at("trouble").textContent = now.description.learning ? "" : "Not learning: " + now.description.trouble;
  at("empty").hidden = Boolean(now.description.version);
  at("freeze").textContent = now.description.frozen ? "Thaw …" : "Freeze …";
  showFields(now.description.columns_of_records);
  showRare(now.description.metrics.rare);
  const leads = !now.description.replica; // a replica is asked for neither
  if (leads) now.kept ||= await (await ask(path("snapshots"), { headers: headers(), signal })).json();
  const kept = now.kept || { snapshots: [] };
  showSnapshots(kept, now.description.task, (snapshot) => actions.rollBack(snapshot));
  const together = leads && list.models.some((each) => each.challenger_of === model || (each.name === model && each.challenger_of));
  const champion = list.aliases.champion || now.description.challenger_of || model;
  showComparison(together ? await (await ask(path("comparison"), { headers: headers(), signal })).json() : null, champion);
  const weighed = now.description.has_importances;
  showImportances(weighed ? await (await ask(path("importances"), { headers: headers(), signal })).json() : { columns: [] });
  if (now.point) setExperts(now.point.expert_weights);
  else setKind(now.description.task);
}

function choices(names) {
  const chosen = at("model");
  if ([...chosen.options].map((each) => each.value).join() === names.join() && chosen.value === model) return;
  if (!names.includes(model)) names = [...names, model];
  chosen.replaceChildren(...names.map((name) => new Option(name, name, false, name === model)));
}

function clear() {
  curves.clear();
  service.clear();
  notices.clear();
  hideConfusion();
  now = {};
}

function connect() {
  clear();
  redraw();
  at("access").hidden = true;
  say("waiting", "Connecting");
  document.title = model === "default" ? "budgetron" : model + " · budgetron";
  goOn();
}

function goOn() {
  stopped.abort();
  stopped = new AbortController();
  const { signal } = stopped;
  follow(path("events"), headers(), now.point?.version || 0, signal, {
    event: (kind, data) => {
      if (kind === "progress") progress(data);
      if (kind === "notice") {
        notices.add(data);
        if (["snapshot", "roll back", "reset"].includes(data.what)) now.kept = null;
      }
      if (kind === "confusion") showConfusion(data);
    },
    connected: () => { say("live", "Live"); },
    lost: (why) => { say("lost", why ? "Not connected: " + why : "Connection lost, trying again"); },
    refused: refuse,
  });
  poll(signal);
}

// ---- what the reader does

at("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  sessionStorage.setItem("token", token);
  connect();
});

at("model").addEventListener("change", () => choose(at("model").value));
addEventListener("hashchange", () => {
  model = named();
  choices([...at("model").options].map((each) => each.value));
  connect();
});
// A page that nobody sees lets others have its connections: a browser has six for a service, and then waits.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) stopped.abort();
  else if (at("access").hidden) goOn();
});
at("skip").addEventListener("click", (event) => { // the address keeps the model
  event.preventDefault();
  at("record").focus();
});

at("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const body = recordOf(at("record").value);
    const more = { "Content-Type": "application/json" };
    const what = at("why").checked ? "predict?explain=1&novelty=1" : "predict";
    const answer = await ask(path(what), { method: "POST", headers: { ...headers(), ...more }, body });
    showAnswer(await answer.json(), now.kind === "regression");
  } catch (error) {
    showProblem(error.message);
  }
});
at("record").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("try").requestSubmit();
});

function turnAcross(across) {
  localStorage.setItem("across", across);
  at("across").textContent = "Curves by: " + (across === "at" ? "time" : "rows");
  [error, loss, experts].forEach((each) => each.turn(across));
}
at("across").addEventListener("click", () => turnAcross(localStorage.getItem("across") === "at" ? "version" : "at"));

const THEMES = ["system", "light", "dark"];
function setTheme(theme) {
  localStorage.setItem("theme", theme);
  at("theme").textContent = "Theme: " + theme;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  charts.forEach((each) => each.build());
  redrawComparison();
}
at("theme").addEventListener("click", () => {
  setTheme(THEMES[(THEMES.indexOf(localStorage.getItem("theme")) + 1) % THEMES.length]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((each) => each.build()));

at("first").textContent = `curl ${location.origin}/v1/learn -H 'Content-Type: application/json' \\
  -d '{"x": {"amount": 5, "country": "DE"}, "y": "ok"}'`;
setTheme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system");
turnAcross(localStorage.getItem("across") === "at" ? "at" : "version");
connect();
