// Loads what is to be drawn, draws it, and offers it as files.
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

  const readout = (figure, drawing, model) => {
    const { svg, drawn, box } = drawing, out = figure.querySelector(".readout");
    if (!drawn.length) return;
    const cursor = cg.svg("circle", { class: "cursor", r: 6 });
    svg.addEventListener("pointermove", (event) => {
      const area = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / area.width;
      const px = (event.clientX - area.left) * scale, py = (event.clientY - area.top) * scale;
      if (px < box.left - 8 || px > box.right + 8 || py < box.top - 8 || py > box.bottom + 8) return;
      let best = null, least = Infinity;
      for (const series of drawn) {
        for (const point of series.points) {
          const far = (point[0] - px) ** 2 + (point[1] - py) ** 2;
          if (far < least) { least = far; best = { series, point }; }
        }
      }
      if (!best) return;
      const [x, y, vx, vy] = best.point;
      out.textContent = `${best.series.name}: ${cg.short(vx)} ${model.x.unit}, ${cg.short(vy)} ${model.y.unit}`;
      cursor.setAttribute("cx", x);
      cursor.setAttribute("cy", y);
      svg.append(cursor);
    });
    svg.addEventListener("pointerleave", () => { out.textContent = ""; cursor.remove(); });
  };

  const figure = (model, width) => {
    const drawing = model.rows ? cg.drawRows(model, width) : cg.draw(model, width);
    const name = `${model.id}-${model.clock}`;
    const save = (kind) => cg.html("button", {
      type: "button", "data-save": kind, "aria-label": `Save ${model.title} as ${kind.toUpperCase()}`,
      onclick: () => {
        // On paper as wide as on a screen, whatever is shown now.
        const copy = (model.rows ? cg.drawRows(model, 800) : cg.draw(model, 800)).svg;
        savePicture(copy, name, kind);
      },
    }, `Save ${kind.toUpperCase()}`);
    const made = cg.html("figure", { id: name }, cg.html("div", { class: "chart" }, drawing.svg),
      cg.html("figcaption", {}, cg.html("span", { class: "save" }, save("svg"), " ", save("png")),
        cg.html("output", { class: "readout", "aria-hidden": "true" })));
    readout(made, drawing, model);
    return made;
  };

  let turn = 0;
  // Draws the experiments in these places, a set of charts for each clock.
  cg.showCharts = async (places) => {
    const mine = ++turn;
    const missing = places.filter((n) => !loaded.has(n));
    if (missing.length > 50) cg.at("charts").replaceChildren(cg.html("p", {}, `Loading ${missing.length} experiments…`));
    await Promise.all(places.map(load));
    if (mine !== turn) return;   // something else was chosen meanwhile
    const charts = cg.at("charts");
    const members = places.map((place, n) => ({ place, line: cg.index.experiments[place], details: loaded.get(place), look: cg.look(n) }));
    const broken = members.filter((m) => !m.details);
    const groups = ["virtual", "real", "unstated"].map((clock) => [clock, members.filter((m) => m.details && m.line.clock === clock)]);
    const present = groups.filter(([, group]) => group.length);
    const made = [];
    if (broken.length) made.push(cg.html("p", { class: "bad" }, `Not loaded: ${broken.map((m) => m.line.name).join(", ")}. Is the folder data complete?`));
    if (present.length > 1) made.push(cg.html("p", {}, "Chosen are experiments in virtual and in other time: they never share a chart, so there is a set of charts for each."));
    charts.classList.remove("measured");
    for (const [clock, group] of present) {
      const grid = cg.html("div", { class: "grid" });
      const room = charts.clientWidth || 340, columns = room >= 900 ? 2 : 1;
      const width = Math.floor((room - 24 * (columns - 1)) / columns);
      grid.append(...cg.models(clock, group).map((model) => figure(model, width)));
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
