// Puts the page together when the index is there, and again when something is chosen.
(() => {
  // What was run: of each setting that says it, its value, its few values, or how many there are.
  const TOLD = ["kernel", "bench", "gateway", "traffic", "load", "clock"], FEW = 4;
  const ran = (experiments) => TOLD.map((key) => {
    const n = cg.index.settings.indexOf(key);
    const values = [...new Set(experiments.map((e) => e.settings[n]))].filter((v) => v && v !== "none").sort(cg.compare);
    if (!values.length) return null;
    if (key === "clock") return values.map((v) => cg.timeWords[v] ?? v).join(" and ");
    if (values.length > FEW && key !== "kernel") return `${values.length} ${key === "traffic" ? "kinds of traffic" : key === "bench" ? "benches" : `${key}s`}`;
    const name = values.length > 1 && key !== "traffic" ? (key === "bench" ? "benches" : `${key}s`) : key;
    return `${name} ${values.length > FEW ? `${values[0]} to ${values[values.length - 1]} (${values.length})` : values.join(", ")}`;
  }).filter(Boolean).join("; ");

  const lead = () => {
    const { experiments, left_out: out, failed, cangate } = cg.index;
    const frames = experiments.reduce((sum, e) => sum + e.sent, 0);
    const n = experiments.length, all = n === 1 ? "1 experiment" : `${cg.count(n)} experiments`;
    const families = [...new Set(cg.index.claims.map((c) => c.id.split("/")[0]))];
    const claims = families.length > 6 ? `${families.length} claims` : `${families.length === 1 ? "Claim" : "Claims"} ${families.join(", ")}`;
    cg.at("title").textContent = families.length ? `${claims} put to the test` : all;
    document.title = `cangate: ${cg.at("title").textContent}`;
    const said = ran(experiments);
    cg.at("lead").textContent = `${all}, ${cg.count(frames)} frames sent${said ? `: ${said}` : ""}. Made by cangate ${cangate}.`;
    if (failed.length) {
      cg.at("failed").hidden = false;
      cg.at("failed").append(cg.html("summary", {}, `${failed.length} ${failed.length === 1 ? "experiment" : "experiments"} failed`),
        ...failed.map((f) => cg.html("section", {}, cg.html("h3", {}, f.name), cg.html("p", {}, f.why),
          f.console ? cg.html("pre", {}, cg.html("code", {}, f.console)) : null)));
    }
    if (!out.length) return;
    cg.at("left-out").hidden = false;
    cg.at("left-out").append(`Left out: ${out.length} ${out.length === 1 ? "file" : "files"}.`,
      cg.html("ul", {}, out.map((o) => cg.html("li", {}, `${o.name}: ${o.why}`))));
  };

  const words = (left, chosen) => {
    const { picks } = cg.state, shown = new Set(left);
    const button = (text, how, off) => cg.html("button", { type: "button", disabled: off, onclick: () => cg.change(how) }, text);
    const hidden = picks.filter((n) => !shown.has(n)).length;
    let said = `Showing all ${chosen.length} experiments.`;
    if (picks.length) said = `${picks.length} ticked ${picks.length === 1 ? "experiment is" : "experiments are"} drawn${hidden ? `, ${hidden} of them not in the table below` : ""}.`;
    else if (!chosen.length) said = "No experiment passes the filters.";
    else if (chosen.length < left.length) said = `The first ${chosen.length} of ${left.length} in the table's order are drawn; tick rows to choose.`;
    cg.at("drawn").replaceChildren(said, " ", button("Tick all shown", (s) => { s.picks = [...new Set([...s.picks, ...left])]; }, !left.length), " ",
      button("Clear ticks", (s) => { s.picks = []; }, !picks.length));
  };

  const common = (left) => {
    const { conditions } = cg.distinguish(left);
    cg.at("common").textContent = conditions && left.length > 1 ? `All: ${conditions}.` : "";
  };

  let drawn = "", turns = 0;
  const show = async () => {
    const left = cg.left(), chosen = cg.chosen(left);
    cg.showFacets();
    cg.showControls();
    words(left, chosen);
    common(left);
    // What is drawn only depends on these.
    const wanted = JSON.stringify([chosen, cg.state.log, cg.state.cost]);
    const charts = wanted === drawn ? null : cg.showCharts(chosen);
    drawn = wanted;
    cg.showTable(left);
    await cg.showDetails();
    await charts;
    setTimeout(cg.fillTable);
    // For whoever drives the page: how many choices are shown.
    document.documentElement.dataset.shown = ++turns;
  };

  globalThis.cangateIndex = async (index) => {
    cg.index = index;
    cg.places = new Map(index.experiments.map((e, n) => [e.name, n]));
    lead();
    cg.makeColumns();
    cg.readAddress();
    cg.at("columns").hidden = cg.at("terms").hidden = false;
    if (innerWidth < 900) cg.at("filters").open = false;
    cg.showClaims();
    await cg.showFigures();
    cg.watchDetails();
    cg.onChange(show);
    await show();
    // For whoever measures: ms from the begin of loading until charts and the table's first rows
    // were there.
    document.documentElement.dataset.ready = Math.round(performance.now());
    cg.onWidth(() => { drawn = ""; show(); });
  };
})();
