// Charts that hold chosen experiments against one another, before they are drawn.
(() => {
  const figures = (member) => member.line.latency[cg.state.cost];
  const ROWS = 40;

  // The greatest latency that a tenth of the frames have or exceed, from the points of a profile.
  const p90 = ({ t, m }) => {
    const all = cg.absolute(t);
    let at = 0;
    while (at + 1 < all.length && m[at + 1] >= m[0] / 10) at++;
    return all[at];
  };

  // A bar up to each median, and a line from the minimum to the 90th percentile (syscalls-2014,
  // Figures 4.2 and 4.3).
  cg.medians = (members, about) => {
    const drawn = members.filter(figures).sort((a, b) => figures(a).p50 - figures(b).p50);
    if (drawn.length < 2) return null;
    const shown = drawn.slice(0, ROWS);
    const high = (m) => p90(m.details.curves[cg.state.cost]);
    const most = Math.max(...shown.map((m) => Math.max(high(m), figures(m).p50)), 1);
    const [unit, per] = cg.unit(most);
    const rest = drawn.length > ROWS ? ` · the ${ROWS} smallest of ${drawn.length}` : "";
    const rows = shown.map((m) => ({
      name: m.name,
      paint: (x, y, w, h) => {
        const { min, p50 } = figures(m), room = Math.max(40, w - 70), to = (ns) => x + room * Math.max(0, ns / most);
        const line = (x1, x2, y1, y2) => cg.svg("line", {
          x1: x1.toFixed(1), x2: x2.toFixed(1), y1: y1.toFixed(1), y2: y2.toFixed(1), stroke: cg.paints.ink, "stroke-width": 1.2,
        });
        const middle = y + h / 2, [a, b] = [to(min), to(high(m))];
        return [
          cg.svg("rect", { x: x.toFixed(1), y, width: Math.max(1, to(p50) - x).toFixed(1), height: h, fill: cg.paints.bar, "fill-opacity": 0.55 }),
          line(a, b, middle, middle), line(a, a, y + 3, y + h - 3), line(b, b, y + 3, y + h - 3),
          cg.paints.text(Math.max(b, to(p50)) + 6, y + 11, `${cg.short(p50 / per)} ${unit}`, { "font-size": 12, fill: cg.paints.muted }),
        ];
      },
    }));
    return { id: "medians", title: "Median latency", rows, ...about, note: `the line goes from the minimum to the 90th percentile${rest}` };
  };

  // Experiments that differ in the frame period only are points of one line; less than three make none.
  const lines = (members) => {
    const traffic = cg.index.settings.indexOf("traffic");
    const groups = new Map();
    for (const member of members) {
      const period = /^period:([\d.]+)$/.exec(member.line.settings[traffic] ?? "");
      if (!period) continue;
      const rest = JSON.stringify(member.line.settings.filter((_, n) => n !== traffic));
      const group = groups.get(rest) ?? { rest, points: new Map() };
      group.points.set(Number(period[1]), member);
      groups.set(rest, group);
    }
    const long = [...groups.values()].filter((g) => g.points.size >= 3);
    const { names } = cg.distinguish(long.map((g) => [...g.points.values()][0].place));
    return long.map((g, n) => ({ name: names[n].replace(/(, )?period:[\d.]+/, "").replace(/^, /, ""), look: cg.look(n), members: [...g.points].sort(([a], [b]) => a - b) }));
  };

  const overPeriod = (members, about, { id, title, note, y, value }) => {
    const series = lines(members).map(({ name, look, members: points }) =>
      ({ name, look, points: points.map(([period, m]) => [period, value(m)]).filter((p) => p[1] != null) }));
    if (!series.some((s) => s.points.length)) return null;
    const conditions = about.conditions.replace(/( · )?period:[\d.]+/, "");
    return { id, title, kind: "line", ...about, conditions, note, x: { title: "frame period (µs)", unit: "µs" }, y, series };
  };

  // Figure 4.4 of syscalls-2014, in two charts.
  cg.medianOverPeriod = (members, about) => {
    const most = Math.max(0, ...members.map((m) => figures(m)?.p50 ?? 0));
    const [unit, per] = cg.unit(most);
    return overPeriod(members, about, {
      id: "median-over-period", title: "Median latency over the frame period",
      note: "a queue that is full makes the latency long: see the frames lost",
      y: { title: `median latency (${unit})`, unit, log: cg.state.log }, value: (m) => (figures(m) ? figures(m).p50 / per : null),
    });
  };
  cg.lossOverPeriod = (members, about) => overPeriod(members, about, {
    id: "loss-over-period", title: "Frames lost over the frame period", note: "share of the frames sent that never came out in time",
    y: { title: "frames lost (%)", unit: "%", low: 0, high: Math.max(1, ...members.map((m) => 104 * (m.line.lost / (m.line.sent || 1)))) },
    value: (m) => (100 * m.line.lost) / (m.line.sent || 1),
  });
})();
