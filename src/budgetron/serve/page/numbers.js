// The numbers of /metrics: what the service does, beside what the model learns.

// {name: [{labels, value}]} of the text format of Prometheus.
export function parse(text) {
  const found = {};
  for (const line of text.split("\n")) {
    const parts = /^budgetron_(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!parts) continue;
    const labels = {};
    for (const [, name, value] of (parts[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    (found[parts[1]] ||= []).push({ labels, value: Number(parts[3].replace("Inf", "Infinity")) });
  }
  return found;
}

export const of = (found, name, model) =>
  (found[name] || []).find((each) => !("model" in each.labels) || each.labels.model === model)?.value;

// The counts of a histogram: [[upper bound, count up to it]].
export const histogram = (found, name, model) => (found[name + "_bucket"] || [])
  .filter((each) => !("model" in each.labels) || each.labels.model === model)
  .map((each) => [Number(each.labels.le.replace("+Inf", "Infinity")), each.value]);

// The quantile of what was added between two histograms, interpolated within its range; null if nothing was.
export function quantile(before, now, share) {
  const old = new Map(before);
  const added = now.map(([bound, value]) => [bound, value - (old.get(bound) || 0)]);
  const total = added.length ? added[added.length - 1][1] : 0;
  if (total <= 0) return null;
  let low = 0, below = 0;
  for (const [bound, value] of added) {
    if (value >= share * total) {
      return bound === Infinity ? low : low + (bound - low) * (share * total - below) / (value - below);
    }
    [low, below] = [bound, value];
  }
  return null;
}

// Requests of a model that were refused since the start, by problem.
export const refused = (found, model) => Object.fromEntries(
  (found.rejected_total || []).filter((each) => each.labels.model === model)
    .map((each) => [each.labels.reason, each.value]));
