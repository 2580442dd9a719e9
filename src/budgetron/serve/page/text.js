// Elements, and numbers as text. Every function takes undefined and null: then the text is a dash.

export const at = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const known = (write) => (value) => (typeof value === "number" && Number.isFinite(value) ? write(value) : "–");
const whole = new Intl.NumberFormat("en");
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const count = known((value) => whole.format(Math.round(value)));
export const brief = known((value) => (Math.abs(value) < 10000 ? three.format(value) : short.format(value)));
export const percent = known((value) => (100 * value).toFixed(value < 0.09995 ? 2 : value < 0.9995 ? 1 : 0) + " %");
export const wholePercent = known((value) => three.format(100 * value) + " %");
export const decimal = known((value) => value.toFixed(3));
export const figure = known((value) => (Math.abs(value) >= 1e6 || (value && Math.abs(value) < 1e-3)
  ? value.toExponential(2) : value.toPrecision(4)));
export const seconds = known((value) => {
  if (value < 1e-3) return three.format(1e6 * value) + " µs";
  return value < 1 ? three.format(1e3 * value) + " ms" : three.format(value) + " s";
});
export const bytes = known((value) => {
  const power = value < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  return three.format(value / 1000 ** power) + " " + ["B", "kB", "MB", "GB", "TB"][power];
});
export const clock = (time) => new Date(1000 * time).toLocaleTimeString("en-GB");
export const day = (time) => new Date(1000 * time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
