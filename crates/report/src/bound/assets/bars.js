// Bounds as bars on one axis of time: what each consists of, its deadline, and what is left until then.
(() => {
  const BAR = 16, BAD = "#B3261E";

  // What stands beside a bar: with room in columns, else in one line.
  const figures = (m, measured) => [
    m.bound == null ? "none" : cg.bounded(m),
    m.bound == null ? "–" : m.can_miss ? `−${cg.exact(-cg.slack(m))}` : cg.exact(cg.slack(m)),
    ...(measured ? [m.seen ? cg.share(m.seen.ratio) : "–"] : []),
  ];

  const bar = (m, y, box, at) => {
    const { axis, ink, line } = cg.paints, made = [], middle = y + BAR / 2;
    if (m.bound == null) {
      made.push(line(box.left, middle, box.right - 4, middle, BAD, { "stroke-width": 2, "stroke-dasharray": "5 4", class: "unbounded" }),
        cg.svg("path", { d: `M${box.right} ${middle}l-8-5v10z`, fill: BAD }));
    } else {
      let sum = 0;
      m.drawn.forEach((ns, n) => {
        if (!ns) return;
        const from = at(sum), to = at(sum += ns);
        // A line between two parts, where they are wide enough for one.
        made.push(cg.svg("rect", { x: from.toFixed(1), y, width: Math.max(0.5, to - from).toFixed(1), height: BAR, fill: cg.parts[n][2], "data-part": cg.parts[n][0], ...(to - from > 4 ? { stroke: "#FFFFFF", "stroke-width": 0.7 } : {}) }));
      });
    }
    const due = at(m.deadline), end = m.bound == null ? box.left : at(m.bound);
    const seen = due <= box.right + 0.5;
    if (m.bound != null && !m.can_miss) {
      made.push(line(end, middle, Math.min(due, box.right), middle, axis, { "stroke-width": 1, "stroke-dasharray": "2 3" }));
      if (!seen) made.push(cg.svg("path", { d: `M${box.right + 5} ${middle}l-6-4v8z`, fill: axis, class: "later" }));
    }
    if (m.bound != null && m.can_miss) made.push(cg.svg("rect", { x: due.toFixed(1), y: y - 2, width: Math.max(2, end - due).toFixed(1), height: BAR + 4, fill: "none", stroke: BAD, "stroke-width": 2, class: "over" }));
    if (seen) made.push(line(due, y - 4, due, y + BAR + 4, m.can_miss ? BAD : ink, { "stroke-width": 2.5, class: "deadline" }));
    return made;
  };

  // How far the axis goes: over all bounds, and over deadlines that are not much later.
  const end = (messages) => {
    const bounds = messages.filter((m) => m.bound != null).map((m) => m.bound);
    const most = Math.max(...bounds, 0);
    const near = messages.map((m) => m.deadline).filter((d) => d <= 1.5 * most || !bounds.length);
    return Math.max(most, ...near, 1);
  };

  // `model`: title, note, messages in their order, `all` of the bus, and `measured`, if anything was.
  cg.drawBounds = (model, w) => {
    const { ink, muted, grid, axis, text, line, width, wrap, sheet, head, legend, size } = cg.paints;
    const svg = sheet(model, "list"), wide = w >= 700;
    let y = head(svg, model, w) + 8;
    const used = cg.parts.filter((_, n) => model.all.some((m) => m.drawn?.[n]));
    y = legend(svg, { series: used.map(([name, , colour]) => ({ name, look: { colour } })), kind: "bars" }, w, y + 8) + 6;
    const heads = ["bound µs", "slack µs", ...(model.measured ? ["measured"] : [])];
    const values = model.messages.map((m) => figures(m, model.measured));
    const columns = heads.map((words, n) => 20 + Math.max(width(words, 12), ...values.map((row) => 1.1 * width(row[n], 13))));
    // Where a column ends.
    const column = (n) => w - 8 - columns.slice(n + 1).reduce((a, b) => a + b, 0);
    const names = model.messages.map(cg.called);
    const longest = Math.min(0.26 * w, Math.max(...names.map((name) => 1.1 * width(name, 13))));
    const box = wide ? { left: 22 + longest, right: column(0) - columns[0] - 8 } : { left: 8, right: w - 16 };
    const most = end(model.all), [unit, per] = cg.unit(most);
    const x = cg.settle({ low: 0, high: (1.02 * most) / per }, [], Math.max(3, Math.round((box.right - box.left) / 110)));
    const at = (ns) => box.left + x.place(ns / per) * (box.right - box.left);
    const labels = (row) => x.ticks.forEach(([value, words]) => {
      const place = at(value * per), half = width(words, 12) / 2;
      svg.append(text(Math.max(half + 2, Math.min(place, box.right + 8 - half)), row, words, { "text-anchor": "middle", fill: muted, "font-size": 12 }));
    });
    const title = (row) => svg.append(text((box.left + box.right) / 2, row, `time since the event (${unit})`, { "text-anchor": "middle", fill: muted, "font-size": 12 }));
    y += 12;
    labels(y);
    if (wide) heads.forEach((words, n) => svg.append(text(column(n), y, words, { "text-anchor": "end", fill: muted, "font-size": 12 })));
    const top = (y += 6), rules = cg.svg("g", { class: "lines" });
    svg.append(rules);
    model.messages.forEach((m, n) => {
      const bold = m === model.worst ? { "font-weight": 600 } : {}, red = m.can_miss ? { fill: BAD, "font-weight": 600 } : {};
      const words = [`${m.bound == null ? "" : `${cg.exact(m.bound)} µs, `}${cg.verdict(m)}`, ...(model.measured && m.seen ? [`measured ${cg.share(m.seen.ratio)}`] : [])].join(", ");
      // Without room for columns, name and figures are on one line above the bar, or on two.
      const name = wrap(names[n], wide || !bold["font-weight"] ? 13 : 14.3, wide ? longest + 4 : w - 16);
      const beside = 1.1 * width(name.at(-1), 13) + 1.1 * width(words, 12) + 28 <= w;
      const said = beside ? [words] : wrap(words, 13.2, w - 16);
      const lines = name.length + (beside ? 0 : said.length);
      const high = wide ? Math.max(BAR + 12, 16 * name.length + 8) : 16 * lines + BAR + 16;
      const row = cg.svg("g", { class: "row", role: "listitem", tabindex: n ? -1 : 0, "data-row": n, "aria-label": cg.aloud(m) },
        cg.svg("rect", { class: "hit", x: 2, y, width: w - 4, height: high, rx: 4, fill: "none" }));
      const first = wide ? y + high / 2 - 8 * (name.length - 1) + 4.5 : y + 16;
      name.forEach((part, i) => row.append(text(8, first + 16 * i, part, { ...bold, ...(m.can_miss ? { fill: BAD } : {}) })));
      if (wide) values[n].forEach((value, i) => row.append(text(column(i), y + high / 2 + 4.5, value, { "text-anchor": "end", "font-size": 13, ...(i < 2 ? red : m.seen?.above ? { fill: BAD, "font-weight": 600 } : {}) })));
      else said.forEach((part, i) => row.append(text(w - 8, first + 16 * (lines - said.length + i), part, { "text-anchor": "end", "font-size": 12, fill: muted, ...red })));
      row.append(...bar(m, wide ? y + (high - BAR) / 2 : y + high - BAR - 6, box, at));
      svg.append(row);
      y += high;
    });
    for (const [value] of x.ticks) rules.append(line(at(value * per), top, at(value * per), y, grid));
    rules.append(line(box.left, top, box.left, y, axis));
    labels(y + 16);
    title(y + 33);
    size(svg, w, y + 42);
    return { svg, drawn: [] };
  };

  const tip = (m) => {
    const swatch = (colour) => cg.svg("svg", { class: "swatch", viewBox: "0 0 10 10" }, cg.svg("rect", { width: 10, height: 10, fill: colour }));
    const row = (name, value, more = {}) => cg.html("tr", more, cg.html("th", { scope: "row" }, name), cg.html("td", { class: "number" }, value));
    const parts = (m.parts ?? []).map((ns, n) => [ns, cg.parts[n]]).filter(([ns]) => ns);
    return cg.html("div", { class: "tip chart", "aria-hidden": "true" }, cg.html("strong", {}, cg.called(m)),
      m.node ? `from node ${m.node}` : null, m.via ? cg.html("div", {}, `from ${m.via}`) : null,
      m.why ? cg.html("div", { class: "bad" }, `No bound: ${m.why}`) : null,
      cg.html("table", {}, cg.html("tbody", {}, parts.map(([ns, [, what, colour]]) => row([swatch(colour), what], cg.exact(ns))),
        m.since ? row("of it before the event", `−${cg.exact(m.since)}`) : null,
        m.bound == null ? null : row("bound, µs", cg.exact(m.bound), { class: "sum" }),
        row("deadline, µs", cg.exact(m.deadline)),
        m.bound == null ? null : row(m.can_miss ? "too long by" : "slack", cg.exact(Math.abs(cg.slack(m))), { class: m.can_miss ? "bad" : null }),
        m.late == null ? null : row("late by random errors, at most", cg.chance(m.late)))),
      m.seen ? cg.html("div", { class: m.seen.above ? "bad" : null }, `Measured: the worst of ${cg.count(m.seen.frames)} is ${cg.share(m.seen.ratio)} of its bound`) : null);
  };

  // What a bar consists of, where it is pointed at or has the focus; the arrow keys go from bar to bar.
  cg.tips = (figure, messages) => {
    const chart = figure.querySelector(".chart"), rows = [...chart.querySelectorAll(".row")];
    let shown = null;
    const hide = () => { shown?.remove(); shown = null; };
    const show = (row) => {
      hide();
      shown = tip(messages[row.dataset.row]);
      chart.append(shown);
      const room = chart.getBoundingClientRect(), here = row.getBoundingClientRect();
      const below = here.bottom + shown.offsetHeight + 8 < innerHeight || here.top < shown.offsetHeight + 8;
      shown.style.top = `${(below ? here.bottom + 2 : here.top - 2 - shown.offsetHeight) - room.top}px`;
      shown.style.left = `${Math.max(0, Math.min(0.3 * room.width, room.width - shown.offsetWidth))}px`;
    };
    const go = (from, to) => {
      if (!rows[to]) return;
      from.setAttribute("tabindex", -1);
      rows[to].setAttribute("tabindex", 0);
      rows[to].focus();
    };
    rows.forEach((row, n) => {
      row.addEventListener("pointerenter", () => show(row));
      row.addEventListener("pointerleave", hide);
      row.addEventListener("focus", () => show(row));
      row.addEventListener("blur", hide);
      row.addEventListener("keydown", (event) => {
        const to = { ArrowDown: n + 1, ArrowUp: n - 1, Home: 0, End: rows.length - 1 }[event.key];
        if (event.key === "Escape") hide();
        if (to === undefined) return;
        event.preventDefault();
        go(row, to);
      });
    });
  };
})();
