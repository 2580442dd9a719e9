// What changes models: cards of all of them, what can be done with the one that is shown, and its snapshots.
import { confirm } from "./dialog.js";
import { ask } from "./stream.js";
import { at, brief, bytes, clock, count, day, figure, make, percent } from "./text.js";

const error = (window, task) => (task === "regression" ? figure(window?.rmse) : percent(window?.rate));

const said = ({ figures, version, challenger_of: beside }) => `error of the last ${count(Math.min(figures.window.rows, 1000))} rows · `
  + `${brief(version)} learned${beside ? " beside " + beside : ""}`;

// One card for each model; the one that is shown is marked. With a single model there is nothing to choose.
export function showCards({ models, aliases }, shown, choose) {
  at("models").hidden = models.length < 2;
  const names = (model) => Object.keys(aliases).filter((alias) => aliases[alias] === model);
  at("cards").replaceChildren(...models.map((each) => {
    const badges = names(each.name).map((alias) => make("span", { className: "badge", textContent: alias }));
    if (each.frozen) badges.push(make("span", { className: "badge cold", textContent: "frozen" }));
    if (!each.learning) badges.push(make("span", { className: "badge bad", textContent: "not learning" }));
    const button = make("button", { type: "button" }, make("b", { textContent: each.name }), ...badges,
      make("span", { className: "value", textContent: error(each.figures.window, each.task) }),
      make("small", { className: "muted", textContent: said(each) }));
    if (each.name === shown) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => choose(each.name));
    return make("li", {}, button);
  }));
}

// The buttons below belong to one model at a time. `send` asks the service, and throws its sentence.
export class Actions {
  constructor(of) {
    this.of = of; // {model, description, headers, changed, gone}, read at each click
    const does = {
      freeze: () => (this.frozen ? this.thaw() : this.freeze()),
      "keep-snapshot": () => this.keep(),
      alias: () => this.alias(),
      challenge: () => this.challenge(),
      rename: () => this.rename(),
      reset: () => this.reset(),
      delete: () => this.delete(),
    };
    for (const [id, action] of Object.entries(does)) at(id).addEventListener("click", action);
  }

  get frozen() {
    return Boolean(this.of().description?.frozen);
  }

  async send(method, what, body) {
    const { headers } = this.of();
    const more = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { "Content-Type": "application/json" };
    const answer = await ask("v1/" + what, { method, headers: { ...headers, ...type }, ...more });
    await this.of().changed();
    return answer.json();
  }

  mine(what) {
    return `models/${encodeURIComponent(this.of().model)}${what}`;
  }

  freeze() {
    confirm(`Freeze ${this.of().model}?`, "It only predicts from then on. Requests to learn are refused until it is thawed.", "Freeze", [],
      () => this.send("POST", this.mine("/freeze")));
  }

  thaw() {
    confirm(`Let ${this.of().model} learn again?`, "", "Thaw", [], () => this.send("POST", this.mine("/thaw")));
  }

  keep() {
    confirm(`Save a snapshot of ${this.of().model}?`, "It is kept, so that you can roll back to it later.", "Save", [],
      () => this.send("POST", this.mine("/snapshot")));
  }

  alias() {
    const { model } = this.of();
    confirm("Set an alias", `Requests to the alias go to ${model} from then on. An alias of another model switches in one step.`, "Set",
      [{ name: "alias", label: "Alias", value: "champion", required: true }],
      ({ alias }) => this.send("PUT", "aliases/" + encodeURIComponent(alias), { model }));
  }

  challenge() {
    confirm(`Let another model learn beside ${this.of().model}?`, "It learns the same rows from one request, and both are compared.", "Add", [
      { name: "name", label: "Name", value: this.of().model + "-2", required: true },
      { name: "algorithm", label: "Algorithm", value: "auto", required: true },
      { name: "replay", label: "Begin with the rows that the log still has", type: "checkbox" },
    ], ({ name, ...more }) => this.send("PUT", this.mine("/challengers/" + encodeURIComponent(name)), more));
  }

  rename() {
    const { model } = this.of();
    confirm(`Rename ${model}`, "Its aliases stay its own. Requests to the old name are refused.", "Rename",
      [{ name: "to", label: "New name", value: model, required: true }],
      async ({ to }) => {
        await this.send("POST", this.mine("/rename"), { to });
        this.of().gone(to);
      });
  }

  reset() {
    confirm(`Reset ${this.of().model}?`, "It begins again with nothing learned. What it was is kept as a snapshot.", "Reset", [],
      () => this.send("POST", this.mine("/reset")), true);
  }

  delete() {
    const { model } = this.of();
    confirm(`Delete ${model}?`, `All that it learned is lost, its snapshots too. Type its name, ${model}, to delete it.`, "Delete",
      [{ name: "name", label: "Name", value: "", required: true, pattern: model }],
      async () => {
        await this.send("DELETE", this.mine(""));
        this.of().gone();
      }, true);
  }

  rollBack({ version, at: time }) {
    confirm(`Roll back to row ${count(version)}?`,
      `The model becomes what it was on ${day(time)} at ${clock(time)}. What it is now is kept as a snapshot, and the log keeps all rows.`,
      "Roll back", [
        { name: "replay", label: "Learn the rows since then again", type: "checkbox" },
        { name: "from", label: "but not those from", type: "datetime-local", step: 1 },
        { name: "until", label: "until", type: "datetime-local", step: 1 },
      ], ({ replay, from, until }) => {
        if (Boolean(from) !== Boolean(until)) throw new Error("Give both times, or none.");
        if (from && !replay) throw new Error("Times are for rows that are learned again: tick the box.");
        const moment = (text) => new Date(text).toISOString();
        const left = from ? [{ from: moment(from), until: moment(until) }] : [];
        return this.send("POST", this.mine("/rollback"), { to: version, replay, leave_out: left });
      }, true);
  }
}

const WHY = { schedule: "by schedule", asked: "asked for", "before a change": "before a change" };

// The snapshots that are kept, the newest first, each with the error it had.
export function showSnapshots({ snapshots }, task, rollBack) {
  at("no-snapshots").hidden = snapshots.length > 0;
  const body = make("tbody");
  for (const each of [...snapshots].reverse()) {
    const button = make("button", { type: "button", textContent: "Roll back …" });
    button.addEventListener("click", () => rollBack(each));
    const cells = [make("th", { scope: "row", textContent: count(each.version) }), make("td", { textContent: `${day(each.at)} ${clock(each.at)}` }),
      make("td", { textContent: WHY[each.why] || each.why }), make("td", { textContent: error(each.figures?.window, task) }),
      make("td", { textContent: bytes(each.bytes) }), make("td", {}, button)];
    body.append(make("tr", {}, ...cells));
  }
  at("kept").replaceChildren(...(snapshots.length ? [head("row", "saved", "why", "error", "size", ""), body] : []));
}

function head(...names) {
  return make("thead", {}, make("tr", {}, ...names.map((textContent) => make("th", { scope: "col", textContent }))));
}
