// The live parts of the dashboard: asks for what is new when the server says that something has changed.
"use strict";
const page = document.getElementById("main");

// Replaces the parts with these ids by what the server shows there now.
async function refresh(ids) {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (fresh.getElementById("main").dataset.live !== page.dataset.live) return location.reload();
  for (const id of ids) {
    const here = document.getElementById(id), there = fresh.getElementById(id);
    // Not under the user's hands: a field with the focus or a mark would be lost.
    const busy = here?.contains(document.activeElement) || here?.querySelector("input:checked");
    if (here && there && !busy) here.replaceChildren(...document.importNode(there, true).childNodes);
  }
}

const known = { nodes: [], edges: [] };
async function draw(run) {
  const last = known.nodes.length ? known.nodes[known.nodes.length - 1][0] : -1;
  const answer = await fetch(`/run/points?${new URLSearchParams({ id: run, after: last })}`);
  if (!answer.ok) return;
  const news = await answer.json();
  if (!news.nodes.length && known.nodes.length) return;
  known.nodes.push(...news.nodes);
  known.edges.push(...news.edges);
  page.dataset.drawn = known.nodes.length;
  const trials = known.nodes.filter((n) => n[1] > 0);
  const at = (id) => document.getElementById(id);

  let best = null;
  const curve = known.nodes.map((n) => (best = n[4] ? n[2] ?? best : best));
  drawChart(at("best-so-far"), { kind: "lines", x: "trial", y: "speedup", legend: false, title: "best speedup so far",
    series: [{ name: "best so far", values: curve }] });

  drawChart(at("lineage"), { kind: "lineage", x: "trial", y: "speedup", nodes: known.nodes, edges: known.edges });
  at("lineage").onTrial = (number) => { location.href = `/trial?${new URLSearchParams({ run, n: number })}`; };

  const width = Math.max(1, Math.ceil(trials.length / 20)), bins = Math.ceil(trials.length / width) || 1;
  const outcomes = [...new Set(trials.map((n) => n[3]))].sort();
  drawChart(at("verdicts"), { kind: "bars", x: "trials", y: "verdicts", stack: true, colors: true, yAxis: { scale: false, minInterval: 1 },
    bins: Array.from({ length: bins }, (_, i) => `${i * width + 1}–${Math.min(trials.length, (i + 1) * width)}`),
    series: outcomes.map((name) => ({ name, values: Array.from({ length: bins }, (_, i) =>
      trials.slice(i * width, (i + 1) * width).filter((n) => n[3] === name).length) })) });

  let tokens = 0, usd = 0;
  const spent = known.nodes.map((n) => [(tokens += n[5]), (usd += n[6] / 1e9)]);
  drawChart(at("spent"), { kind: "lines", x: "trial", y: "", series: [
    { name: "thousand tokens", values: spent.map((s) => s[0] / 1000) }, { name: "US cents", values: spent.map((s) => 100 * s[1]) }] });
}

if (page.dataset.live) {
  const run = page.dataset.run;
  let busy = false, again = false;
  const update = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      if (run) await draw(run);
      await refresh(run ? ["live", "proposals"] : ["live"]);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // else the server is away: the stream will tell when it is back
    } finally { busy = false; }
    if (again) { again = false; setTimeout(update, 300); }
  };
  if (run) draw(run);
  const events = new EventSource("/events");
  events.onmessage = (event) => { if (event.data !== "0") update(); };
  addEventListener("pagehide", () => events.close());
}

// Keys: / searches, n and p go to the next and the previous page or proposal.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
  if (event.key === "/") { event.preventDefault(); document.querySelector("[data-search]")?.focus(); }
  const way = { n: "next", p: "prev" }[event.key];
  if (way) document.querySelector(`a[rel=${way}]`)?.click();
});
