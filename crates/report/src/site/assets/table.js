// The table: a row an experiment, sorted by any column.
(() => {
  const figure = (cost, key) => (e) => e.latency[cost]?.[key] ?? null;
  const mean = (e) => (e.accesses ? e.accesses.sum / e.accesses.frames : null);
  const lossy = (e, n) => (n ? `${cg.count(n)} (${cg.percent(n, e.sent)})` : "0");

  // The gateway's own share of each median: what is above the median of an ideal gateway on the same
  // bench with one frame at a time; null where there is none.
  cg.ownShares = () => {
    const { experiments, settings } = cg.index;
    const same = ["kernel", "bench", "payload", "cpu", "boot", "clock"].map((key) => settings.indexOf(key));
    const gateway = settings.indexOf("gateway"), traffic = settings.indexOf("traffic"), load = settings.indexOf("load");
    const machine = (e) => same.map((n) => e.settings[n]).join("\n");
    const p50 = (e) => e.latency[0]?.p50 ?? null;
    const floors = new Map(experiments.filter((e) => e.settings[gateway] === "ideal").map((e) => [machine(e), p50(e)]));
    return experiments.map((e) => {
      const floor = floors.get(machine(e)) ?? null;
      const alone = e.settings[traffic] === "oneatatime" && e.settings[load] === "none";
      const routes = !["ideal", "none", ""].includes(e.settings[gateway]);
      return alone && routes && floor != null && p50(e) != null ? p50(e) - floor : null;
    });
  };

  // Columns that this index needs: settings that differ, figures, accesses where they were counted.
  cg.makeColumns = () => {
    const { experiments, settings, costs } = cg.index;
    const columns = [{ key: "name", head: "experiment", value: (e) => e.name }];
    settings.forEach((key, n) => {
      if (new Set(experiments.map((e) => e.settings[n])).size < 2) return;
      columns.push({ key, head: key, setting: true, value: (e) => e.settings[n] || null, show: (e) => e.settings[n] || "–" });
    });
    for (const [key, show] of [["sent", (e) => cg.count(e.sent)], ["lost", (e) => lossy(e, e.lost)], ["reordered", (e) => cg.count(e.reordered)], ["duplicated", (e) => cg.count(e.duplicated)]]) {
      columns.push({ key, head: key, number: true, value: (e) => e[key], show, bad: ["lost", "duplicated"].includes(key) ? (e) => e[key] > 0 : null });
    }
    for (const [key, head] of [["min", "min"], ["p50", "p50"], ["p99", "p99"], ["p999", "p99.9"], ["max", "max"]]) {
      const value = figure(0, key);
      columns.push({ key, head: `${head}\u00a0µs`, number: true, value, show: (e) => cg.micros(value(e)) });
    }
    const own = cg.ownShares();
    if (own.some((share) => share != null)) {
      const value = (e) => own[cg.places.get(e.name)];
      columns.push({ key: "own", head: "own share of p50\u00a0µs", number: true, value, show: (e) => cg.micros(value(e)) });
    }
    if (experiments.some((e) => e.accesses)) {
      columns.push({ key: "accesses", head: "accesses a frame", number: true, value: mean, show: (e) => (e.accesses ? mean(e).toFixed(1) : "–") });
      costs.forEach((cost, n) => {
        if (!cost) return;
        const words = cost >= 1000 ? `${cost / 1000} µs` : `${cost} ns`;
        for (const key of ["p50", "p99", "max"]) {
          const value = figure(n, key);
          columns.push({ key: `${key}-${cost}`, head: `${key} µs at ${words} an access`, number: true, value, show: (e) => cg.micros(value(e)) });
        }
      });
    }
    cg.columns = columns;
  };

  const heads = () => cg.columns.map((c) => {
    const sorted = cg.state.sort === c.key;
    return cg.html("th", { scope: "col", class: c.number ? "number" : null, "aria-sort": sorted ? (cg.state.down ? "descending" : "ascending") : null },
      cg.html("button", {
        type: "button", class: "plain", "data-sort": c.key,
        // Of figures the greatest is what one looks for.
        onclick: () => cg.change((s) => { s.down = s.sort === c.key ? !s.down : Boolean(c.number); s.sort = c.key; }),
      }, c.head, cg.html("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (cg.state.down ? " ▼" : " ▲") : "")));
  });

  const rows = new Map();   // a row is made once, and then moved
  const row = (place) => {
    if (rows.has(place)) return rows.get(place);
    const e = cg.index.experiments[place];
    const box = cg.html("input", {
      type: "checkbox", "aria-label": `Draw ${e.name}`,
      onchange: () => cg.change((s) => {
        const at = s.picks.indexOf(place);
        if (at < 0) s.picks.push(place); else s.picks.splice(at, 1);
      }),
    });
    const cells = cg.columns.map((c) => (c.key === "name"
      ? cg.html("th", { scope: "row" }, cg.html("div", {}, box, cg.html("button", {
        type: "button", class: "plain name", title: e.title, onclick: () => cg.change((s) => { s.open = place; }),
      }, e.name)))
      : cg.html("td", { class: [c.number ? "number" : "", c.bad?.(e) ? "bad" : ""].join(" ").trim() || null }, c.show(e))));
    const made = cg.html("tr", { "data-place": place }, cells);
    rows.set(place, made);
    tick(place, made);
    return made;
  };
  const tick = (place, made) => {
    const picked = cg.state.picks.includes(place);
    made.cells[0].querySelector("input").checked = picked;
    made.classList.toggle("picked", picked);
  };

  // Rows that are seen at once come at once; the others when all else is there.
  const FIRST = 40, SLICE = 80;
  let table = null, order = [], there = 0;

  cg.fillTable = () => {
    if (there >= order.length) return;
    table.tBodies[0].append(...order.slice(there, there + SLICE).map(row));
    there += SLICE;
    if (there < order.length) setTimeout(cg.fillTable);
    else document.documentElement.dataset.complete = Math.round(performance.now());
  };

  // Settings that all rows share stand above the table instead.
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];
  const hideShared = (left) => {
    const shared = (c) => c.setting && left.length > 1 && left.every((n) => c.value(cg.index.experiments[n]) === c.value(cg.index.experiments[left[0]]));
    sheet.replaceSync(cg.columns.map((c, n) => (shared(c) ? `#table tr > :nth-child(${n + 1}) { display: none; }` : "")).join("\n"));
  };

  cg.showTable = (left) => {
    const { state, index } = cg;
    if (!table) {
      table = cg.html("table", {}, cg.html("caption", {}), cg.html("thead", {}, cg.html("tr")), cg.html("tbody"));
      cg.at("table").append(table);
    }
    const held = document.activeElement, sort = held?.dataset.sort;
    table.tHead.rows[0].replaceChildren(...heads());
    if (sort) table.tHead.querySelector(`[data-sort="${sort}"]`)?.focus();
    for (const [place, made] of rows) tick(place, made);
    if (!there || order.length !== left.length || order.some((place, n) => place !== left[n])) {
      order = left;
      there = FIRST;
      table.tBodies[0].replaceChildren(...order.slice(0, FIRST).map(row));
      if (held?.isConnected) held.focus();
    }
    hideShared(left);
    const times = [...new Set(left.map((n) => index.experiments[n].clock))].map((c) => cg.timeWords[c]);
    table.caption.textContent = left.length
      ? `${left.length} of ${index.experiments.length} experiments; times in µs (${times.join(", ")}). Tick rows to draw them; a name opens the details.`
      : "No experiment passes all filters.";
  };
})();
