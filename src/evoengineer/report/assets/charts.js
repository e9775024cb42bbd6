// Draws every .chart from the JSON in the element that its data-chart names. Used by the report and the dashboard.
// The data's text is only ever drawn on a canvas: tooltips are rich text, never markup.
"use strict";
const charts = new Map();
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = () => ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"].map(color);
const OUTCOMES = { valid: "--c3", compile_error: "--c2", wrong: "--c5", race: "--c4", memory_error: "--c1" };
const outcomeColor = (outcome) => color(OUTCOMES[outcome] || "--c6");

function frame(spec) {
  const ink = color("--soft"), line = color("--line");
  const axis = (name, log, extra) => Object.assign({
    type: log ? "log" : "value", name, nameLocation: "middle", nameGap: 30, scale: true,
    axisLabel: { color: ink, hideOverlap: true }, nameTextStyle: { color: ink },
    axisLine: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: line, opacity: 0.5 } },
  }, extra);
  return {
    animation: false, color: palette(), aria: { enabled: true, label: { description: spec.title || "" } },
    grid: { left: 54, right: 16, top: spec.legend === false ? 14 : 44, bottom: 46 },
    legend: { show: spec.legend !== false, type: "scroll", top: 4, textStyle: { color: color("--ink") },
              pageTextStyle: { color: ink }, data: spec.names },
    tooltip: { renderMode: "richText", confine: true, trigger: spec.trigger || "item" },
    xAxis: axis(spec.x, false, spec.xAxis), yAxis: axis(spec.y, spec.log, spec.yAxis),
  };
}

const KINDS = {
  // series: [{name, values, low?, high?}], by position. Low and high are drawn as a stacked, transparent band.
  lines(spec) {
    const option = frame({ ...spec, names: spec.series.map((s) => s.name), trigger: "axis" });
    const paint = palette();
    option.series = spec.series.flatMap((s, i) => {
      const points = (values) => values.map((v, at) => [at, v]);
      const main = { name: s.name, type: "line", step: "end", showSymbol: false, color: paint[i % 6], data: points(s.values) };
      if (!s.low) return [main];
      const quiet = { type: "line", step: "end", showSymbol: false, silent: true, stack: "band" + i, tooltip: { show: false },
                      lineStyle: { opacity: 0 }, color: paint[i % 6] };
      return [
        { ...quiet, name: s.name + " ", data: points(s.low) },
        { ...quiet, name: s.name + " ", data: points(s.high.map((h, at) => h - s.low[at])), areaStyle: { opacity: 0.15 } },
        main,
      ];
    });
    option.tooltip.show = true;
    option.tooltip.formatter = (items) => items.filter((i) => !i.seriesName.endsWith(" "))
      .map((i) => `${spec.x} ${i.value[0]}   ${i.seriesName}: ${i.value[1] == null ? "-" : i.value[1].toFixed(2)}`).join("\n");
    return option;
  },
  // series: [{name, points: [[x, y, label]]}]
  scatter(spec) {
    const option = frame({ ...spec, names: spec.series.map((s) => s.name) });
    option.series = spec.series.map((s) => ({ name: s.name, type: "scatter", symbolSize: spec.size || 12, data: s.points }));
    option.tooltip.formatter = (item) => `${item.value[2] || item.seriesName}\n${spec.x}: ${item.value[0].toFixed(3)}\n${spec.y}: ${item.value[1].toFixed(3)}`;
    return option;
  },
  // bins: [name], series: [{name, values}]
  bars(spec) {
    const option = frame({ ...spec, names: spec.series.map((s) => s.name), trigger: "axis",
                           xAxis: { type: "category", data: spec.bins } });
    option.series = spec.series.map((s) => ({ name: s.name, type: "bar", data: s.values, stack: spec.stack ? "all" : undefined }));
    if (spec.colors) option.series.forEach((s) => { s.color = outcomeColor(s.name); });
    return option;
  },
  // nodes: [[number, trial, speedup or null, outcome, improved]], edges: [[child, parent]]. Of many edges only those
  // are drawn that led to a new best: the others would hide everything.
  lineage(spec) {
    const option = frame({ ...spec, legend: false });
    const at = new Map(spec.nodes.map((n) => [n[0], [n[1], n[2]]]));
    const floor = Math.min(1, ...spec.nodes.map((n) => n[2] || 1)) * 0.9;
    const place = (n) => [n[1], n[2] == null ? floor : n[2]];
    const ways = [], small = spec.nodes.length > 2000 ? 3 : 7;
    const led = spec.edges.length > 2000 ? ancestry(spec) : at;
    for (const [child, parent] of spec.edges) {
      if (led.has(child) && at.has(child) && at.has(parent)) {
        const to = at.get(child), from = at.get(parent);
        ways.push([from[0], from[1] ?? floor], [to[0], to[1] ?? floor], [null, null]);
      }
    }
    option.series = [
      { type: "line", data: ways, silent: true, showSymbol: false, lineStyle: { color: color("--line"), width: 1 }, z: 1 },
      { type: "scatter", z: 2, cursor: "pointer", progressive: 0,
        data: spec.nodes.map((n) => ({ value: [...place(n), n[0], n[3]], symbolSize: n[4] ? 13 : small,
          symbol: n[2] == null ? "triangle" : "circle", itemStyle: { color: outcomeColor(n[3]) } })) },
    ];
    option.tooltip.formatter = (item) => `proposal ${item.value[2]}: ${item.value[3]}`
      + (item.value[3] === "valid" ? ` ${item.value[1].toFixed(2)}x` : "");
    return option;
  },
};

// Every proposal that is a new best or an ancestor of one.
function ancestry(spec) {
  const parents = new Map();
  for (const [child, parent] of spec.edges) parents.set(child, [...(parents.get(child) || []), parent]);
  const found = new Set(), pending = spec.nodes.filter((n) => n[4]).map((n) => n[0]);
  while (pending.length) {
    const number = pending.pop();
    if (!found.has(number)) { found.add(number); pending.push(...(parents.get(number) || [])); }
  }
  return found;
}

function drawChart(holder, spec) {
  let chart = charts.get(holder);
  if (!chart) {
    chart = echarts.init(holder, null, { renderer: "canvas" });
    charts.set(holder, chart);
    chart.on("click", (item) => { if (holder.onTrial && item.value) holder.onTrial(item.value[2]); });
  }
  holder.spec = spec;
  chart.setOption(KINDS[spec.kind](spec), true);
}

function drawAll() {
  for (const holder of document.querySelectorAll(".chart[data-chart]")) {
    const source = document.getElementById(holder.dataset.chart);
    if (holder.spec || source) drawChart(holder, holder.spec || JSON.parse(source.textContent));
  }
}

addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

// The theme: the system's, until the button says otherwise.
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  drawAll();
}
try { setTheme(localStorage.getItem("theme")); } catch { /* a file:// page may have no storage */ }
document.getElementById("theme")?.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  try { localStorage.setItem("theme", dark ? "light" : "dark"); } catch { /* not kept */ }
  setTheme(dark ? "light" : "dark");
});
drawAll();
