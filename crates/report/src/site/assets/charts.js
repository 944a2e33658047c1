// Loads what is to be drawn, and draws it.
(() => {
  const loaded = new Map();    // place -> details
  const waiting = new Map();   // place -> promise
  globalThis.cangateDetails = (place, details) => loaded.set(place, details);

  // A page opened as a file may load scripts, and nothing else.
  const load = (place) => {
    if (loaded.has(place)) return Promise.resolve();
    if (!waiting.has(place)) {
      waiting.set(place, new Promise((done) => {
        const script = cg.html("script", { src: `data/${place}.js` });
        script.onload = script.onerror = () => { script.remove(); waiting.delete(place); done(); };
        document.head.append(script);
      }));
    }
    return waiting.get(place);
  };
  cg.details = async (place) => { await load(place); return loaded.get(place); };

  let turn = 0;
  // Draws the experiments in these places, a set of charts for each clock.
  cg.showCharts = async (places) => {
    const mine = ++turn;
    const missing = places.filter((n) => !loaded.has(n));
    if (missing.length > 50) cg.at("charts").replaceChildren(cg.html("p", {}, `Loading ${missing.length} experiments…`));
    await Promise.all(places.map(load));
    if (mine !== turn) return;   // something else was chosen meanwhile
    const charts = cg.at("charts");
    const looks = cg.looksOf(places);
    const members = places.map((place, n) => ({ place, line: cg.index.experiments[place], details: loaded.get(place), look: looks[n] }));
    const broken = members.filter((m) => !m.details);
    const groups = ["virtual", "real", "unstated"].map((clock) => [clock, members.filter((m) => m.details && m.line.clock === clock)]);
    const present = groups.filter(([, group]) => group.length);
    const made = [];
    if (broken.length) made.push(cg.html("p", { class: "bad" }, `Not loaded: ${broken.map((m) => m.line.name).join(", ")}. Is the folder data complete?`));
    if (present.length > 1) made.push(cg.html("p", {}, "Chosen are experiments in virtual and in other time: they never share a chart, so there is a set of charts for each."));
    charts.classList.remove("measured");
    for (const [clock, group] of present) {
      const grid = cg.grid(cg.models(clock, group), charts.clientWidth);
      if (present.length > 1) made.push(cg.html("h3", {}, cg.timeWords[clock].replace(/^./, (c) => c.toUpperCase())));
      made.push(grid);
    }
    charts.replaceChildren(...made);
  };

  cg.showControls = () => {
    const { state } = cg, index = cg.index;
    const choice = (legend, name, options, chosen, how) => cg.html("fieldset", {}, cg.html("legend", {}, legend),
      options.map((words, n) => cg.html("label", {},
        cg.html("input", { type: "radio", name, checked: n === chosen, onchange: () => cg.change((s) => how(s, n)) }), " ", words)));
    const controls = [choice("Latency axis", "axis", ["linear", "logarithmic"], state.log ? 1 : 0, (s, n) => { s.log = n === 1; })];
    if (index.experiments.some((e) => e.accesses)) {
      const words = index.costs.map((ns) => (ns >= 1000 ? `${ns / 1000} µs` : ns ? `${ns} ns` : "nothing more"));
      controls.push(choice("Charge each register access", "access", words, state.cost, (s, n) => { s.cost = n; }));
    }
    cg.at("controls").replaceChildren(...controls);
  };
})();
