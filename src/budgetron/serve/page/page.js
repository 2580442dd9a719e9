"use strict";
// The events are read with fetch, since an EventSource cannot send a token.

const at = (id) => document.getElementById(id);
let token = sessionStorage.getItem("token") || "";
let last = 0;

const headers = (more) => Object.assign(token ? { Authorization: "Bearer " + token } : {}, more);
const say = (text) => { at("state").textContent = text; };
const shown = (value) => (typeof value === "number" && !Number.isInteger(value) ? value.toFixed(4) : String(value));

function draw(point) {
  const rows = [
    ["rows learned", point.version],
    ["error, last 1000 rows", point.window.rate],
    ["error, all rows", point.running.rate],
    ["error of the last label, last 1000 rows", point.baselines.last.window],
    ["error of the most frequent label, last 1000 rows", point.baselines.frequent.window],
    ["log loss, last 1000 rows", point.window.log_loss],
    ["support vectors", point.support_vectors],
    ["columns", point.columns],
    ["memory of the model, bytes", point.model_bytes],
    ["rows in the queue", point.queue_rows],
    ["half of the commits take at most, seconds", point.commit_seconds],
  ].filter((row) => row[1] !== undefined && row[1] !== null);
  at("numbers").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    row.forEach((cell) => { line.insertCell().textContent = shown(cell); });
    return line;
  }));
}

function notice(said) {
  const line = document.createElement("li");
  line.textContent = "row " + said.version + ": " + said.what + " " + (said.why || (said.classes || []).join(", "));
  at("notices").prepend(line);
  while (at("notices").children.length > 50) at("notices").lastChild.remove();
}

function take(event) {
  let kind = "message", data = "";
  for (const line of event.split("\n")) {
    if (line.startsWith("id: ")) last = Number(line.slice(4));
    if (line.startsWith("event: ")) kind = line.slice(7);
    if (line.startsWith("data: ")) data = line.slice(6);
  }
  if (kind === "progress") draw(JSON.parse(data));
  if (kind === "notice") notice(JSON.parse(data));
}

async function read() {
  const answer = await fetch("v1/events", { headers: headers({ "Last-Event-ID": String(last) }) });
  if (answer.status === 401 || answer.status === 403) {
    at("access").hidden = false;
    say((await answer.json()).detail);
    return false;
  }
  if (!answer.ok) throw new Error("status " + answer.status);
  at("access").hidden = true;
  say("connected");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return true;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    events.forEach(take);
  }
}

async function follow() {
  for (;;) {
    try {
      if (!(await read())) return;
    } catch (error) {
      say("not connected: " + error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

at("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value;
  sessionStorage.setItem("token", token);
  follow();
});
at("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch("v1/predict", {
    method: "POST", headers: headers({ "Content-Type": "application/json" }), body: at("record").value,
  });
  at("answer").textContent = JSON.stringify(await answer.json(), null, 1);
});
follow();
