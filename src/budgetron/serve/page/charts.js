// A chart in a section: title, legend with values, curves. Colours come from the style sheet, so themes are there only.
/* global uPlot */
import { make } from "./text.js";

const MOST = 3000;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FONT = "12px system-ui, sans-serif";

// Columns of numbers; of too many rows, every second of the older half goes.
export class Columns {
  constructor(names) {
    this.names = names;
    this.clear();
  }

  clear() {
    this.of = Object.fromEntries(this.names.map((name) => [name, []]));
  }

  get length() {
    return this.of[this.names[0]].length;
  }

  last(name) {
    return this.of[name].at(-1);
  }

  // A row whose first value is that of the last row replaces it.
  push(row) {
    const first = this.names[0];
    const same = this.length && row[first] === this.last(first);
    for (const name of this.names) {
      if (same) this.of[name].pop();
      this.of[name].push(row[name] ?? null);
    }
    if (this.length <= MOST) return;
    const half = this.length / 2;
    for (const name of this.names) this.of[name] = this.of[name].filter((_, i) => i >= half || i % 2 === 0);
  }
}

export class Chart {
  // series: [{name, column, colour, width, dash, fill, since}], since: values hold since the one before; what: {title, note, format, height, marks, fromZero}
  // The horizontal axis is the first of the columns, or "at": clock time.
  constructor(section, columns, series, what) {
    Object.assign(this, { section, columns, what, across: columns.names[0] });
    this.title = make("h2", { textContent: what.title });
    this.note = make("p", { className: "muted", textContent: what.note || "" });
    this.legend = make("ul", { className: "legend" });
    this.place = make("div", { className: "plot" });
    this.place.style.height = what.height + "px";
    section.replaceChildren(make("div", { className: "head" }, this.title, this.note), this.legend, this.place);
    this.use(series);
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  // Other curves, such as those of another model.
  use(series) {
    this.series = series;
    this.values = series.map(() => make("b", { textContent: "–" }));
    this.legend.replaceChildren(...series.map((each, i) => {
      const key = make("i", { className: each.dash ? "key dashed" : "key" });
      key.style.setProperty("--colour", `var(${each.colour})`);
      return make("li", {}, key, each.name + " ", this.values[i]);
    }));
    this.build();
  }

  name(title, note, format, axis) {
    this.title.textContent = title;
    this.note.textContent = note;
    Object.assign(this.what, { format, axis });
    this.build();
  }

  // Draw against another column: "version" or "at".
  turn(across) {
    this.across = across;
    this.build();
  }

  get time() {
    return this.across === "at";
  }

  build() {
    this.plot?.destroy();
    const { what, time } = this;
    const axis = { stroke: style("--muted"), font: FONT, ticks: { show: false } };
    const grid = { stroke: style("--line"), width: 1 };
    this.plot = new uPlot({
      width: Math.max(this.place.clientWidth, 50),
      height: what.height,
      padding: [10, time ? 34 : 24, 0, 0], // room for half of the last time or number
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        x: { time, range: () => this.span() },
        y: { range: (_, low, high) => this.range(low, high) },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 24, gap: 6, space: 70, ...(time
          ? { values: (_, splits) => splits.map((at) => new Date(1000 * at).toLocaleTimeString("en-GB")), space: 90 }
          : { values: (_, splits) => splits.map((at) => (at % 1 ? "" : at.toLocaleString("en"))) }) },
        { ...axis, grid, size: 62, values: (_, splits) => splits.map((value) => (what.axis || what.format)(value)) },
      ],
      series: [{}, ...this.series.map((each) => ({
        stroke: style(each.colour),
        width: each.width || 1.5,
        dash: each.dash,
        fill: each.fill ? style(each.fill) : undefined,
        paths: each.since ? uPlot.paths.stepped({ align: -1 }) : undefined,
        points: { show: (_, __, first, last) => last - first < 1, size: 6, fill: style(each.colour) },
        spanGaps: Boolean(each.spanGaps),
      }))],
      hooks: { setCursor: [() => this.tell()], draw: [(plot) => this.mark(plot)] },
    }, this.data(), this.place);
    this.tell();
  }

  // At least a minute, or all rows from the first; a chart without data shows the last minute, or a thousand rows.
  span() {
    const values = this.columns.of[this.across], first = values[0], last = values.at(-1);
    const end = last ?? (this.time ? Date.now() / 1000 : 1000);
    if (this.time) return [Math.min(first ?? end, end - 60), end];
    return [values.length > 1 ? first : 0, end];
  }

  range(low, high) {
    if (low === null || low === undefined || (low === 0 && high === 0)) return [0, 1];
    const above = high + 0.08 * (Math.abs(high) || 1e-6);
    return this.what.fromZero === false ? [Math.min(low - 0.08 * Math.abs(low), 0), Math.max(above, 0)]
      : [0, above];
  }

  data() {
    const { of } = this.columns;
    return [of[this.across], ...this.series.map((each) => of[each.column] || [])];
  }

  draw() {
    this.plot.setData(this.data());
    this.tell();
  }

  // The values under the pointer, or the last ones.
  tell() {
    const place = this.plot?.cursor.idx ?? this.columns.length - 1;
    this.series.forEach((each, i) => {
      const values = this.columns.of[each.column] || [];
      this.values[i].textContent = this.what.format(values[place] ?? (each.spanGaps ? lastKnown(values, place) : null));
    });
  }

  // Vertical lines where something happened.
  mark(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    let taken = -Infinity;
    for (const { text, colour, ...where } of this.what.marks?.() || []) {
      const x = Math.round(plot.valToPos(where[this.across], "x", true));
      if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue;
      ctx.strokeStyle = ctx.fillStyle = style(colour);
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const gap = 4 * devicePixelRatio, width = ctx.measureText(text).width + 2 * gap;
      const fits = x + width < bbox.left + bbox.width;
      if ((fits ? x : x - width) < taken) continue; // the text of the line before is here
      ctx.textAlign = fits ? "left" : "right";
      ctx.fillText(text, fits ? x + gap : x - gap, bbox.top);
      taken = x + width;
    }
    ctx.restore();
  }

  fit() {
    const width = this.place.clientWidth;
    if (width && this.plot && width !== this.plot.width) this.plot.setSize({ width, height: this.what.height });
  }
}

function lastKnown(values, place) {
  while (place >= 0 && values[place] === null) place -= 1;
  return values[place];
}
