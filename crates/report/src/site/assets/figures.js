// The claims' figures: what was measured over a parameter, as the paper draws it, with the paper's own points.
(() => {
  const of = { best: "best case", median: "median", worst: "worst case", value: "" };
  const value = (v, unit) => `${cg.short(v)}${unit ? ` ${unit}` : ""}`;
  const title = ({ title: words, unit }) => (unit && !words.endsWith(unit) ? `${words} (${unit})` : words);

  // One colour a gateway, one dash a setting; the same gateway has the same colour in every figure, where there are
  // not more of them than colours.
  const looks = (figure) => {
    const distinct = (key) => [...new Set(figure.series.map((s) => s[key]))];
    const everywhere = cg.gateways(), here = distinct("gateway"), settings = distinct("setting");
    const known = everywhere.length <= cg.colours.length && here.every((gateway) => everywhere.includes(gateway));
    const order = known ? everywhere : here;
    return figure.series.map((s) => {
      const colour = order.indexOf(s.gateway);
      const dash = settings.indexOf(s.setting);
      const few = colour < cg.colours.length && dash < cg.dashes.length;
      return few ? { colour: cg.colours[colour], dash: cg.dashes[dash], mark: 0 } : cg.look(cg.looks);
    });
  };

  const words = (s, figure) => {
    const several = (key) => new Set(figure.series.map((other) => other[key])).size > 1;
    const parts = [several("gateway") || !several("setting") ? s.gateway : null, several("setting") ? s.setting : null];
    return parts.filter(Boolean).join(", ") || s.gateway;
  };

  const sources = (figure) => [...new Set(figure.paper.map((p) => p.source))].join(", ");
  const about = (figure, note, clock) => ({
    id: `figure-${figure.claims[0].toLowerCase()}`, title: `${figure.claims.join(", ")}: ${figure.title}`, clock,
    note: [note, figure.paper.length ? `${figure.form === "profile" ? "dashes" : "×"}: stated by ${sources(figure)}` : "the papers state no number for it", figure.note].filter(Boolean).join(" · "),
  });
  // A place on a profile has a name that says which of its figures it is.
  const stated = (p, figure) => ["paper:", p.name, p.y == null && p.name ? "" : of[p.of], p.y == null ? value(p.x, figure.x.unit) : value(p.y, figure.y.unit)].filter(Boolean).join(" ");

  // Over numbers: medians as a line with dots, worst cases as triangles, the paper's points as crosses.
  const overNumbers = (figure, clock) => {
    const look = looks(figure);
    const series = figure.series.map((s, n) => ({ name: words(s, figure), look: look[n], points: s.points.map((p) => [p.x, p.median]) }));
    const marks = figure.series.flatMap((s, n) => s.points.flatMap((p) => [
      { form: "dot", x: p.x, y: p.median, colour: look[n].colour },
      ...(p.worst == null ? [] : [{ form: "triangle", x: p.x, y: p.worst, colour: look[n].colour }]),
    ]));
    const paper = figure.paper.map((p) => ({ form: "cross", x: p.x, y: p.y, words: stated(p, figure) }));
    const all = [...marks, ...paper].map((m) => m.y);
    const medians = series.flatMap((s) => s.points.map((p) => p[1]));
    // A worst case far above all medians would press them to the axis.
    const log = Math.min(...all) > 0 && Math.max(...all) > 8 * Math.max(...medians);
    const worst = figure.series.some((s) => s.points.some((p) => p.worst != null));
    return {
      ...about(figure, `line and dots: ${figure.form === "named" ? "what their names say" : "medians"}${worst ? " · triangles: worst cases" : ""}`, clock), kind: "line",
      x: { title: title(figure.x), unit: figure.x.unit },
      y: { title: `${title(figure.y)}${log ? ", logarithmic" : ""}`, unit: figure.y.unit, log }, series, marks: [...marks, ...paper],
    };
  };

  // Beside one another: a row for each name, in it a bar for each gateway.
  const besideOneAnother = (figure, clock) => {
    const look = looks(figure);
    const measured = [...new Set(figure.series.flatMap((s) => s.points.map((p) => p.x)))];
    const only = [...new Set(figure.paper.map((p) => p.x))].filter((x) => !measured.includes(x));
    const all = [...figure.series.flatMap((s) => s.points.flatMap((p) => [p.median, p.worst])), ...figure.paper.map((p) => p.y)].filter((v) => v != null);
    const most = Math.max(...all, 1e-9), least = Math.min(...all.filter((v) => v > 0), most);
    const log = all.every((v) => v > 0) && most > 100 * least;
    const low = log ? least / 2 : Math.min(0, ...all);
    const place = (v) => (log ? Math.log(v / low) / Math.log(most / low) : (v - low) / (most - low));
    const alone = measured.every((x) => figure.series.filter((s) => s.points.some((p) => p.x === x)).length < 2);
    const BAR = 12, { ink, muted, text, line, width, wrap } = cg.paints;
    const both = (point) => `${cg.short(point.median)}${point.worst == null ? "" : ` / ${cg.short(point.worst)}`}`;
    // Room for the numbers behind the longest bar.
    const numbers = 20 + Math.max(0, ...figure.series.flatMap((s) => s.points.map((p) => width(both(p), 12))));
    const scale = (left, room) => (v) => left + Math.max(40, room - numbers) * place(v);
    // Where the words of the paper's points stand: right of them, left of them, or below them on lines of their own.
    const beside = (theirs, left, room) => {
      const words = theirs.map((p) => [p.name, of[p.of], cg.short(p.y)].filter(Boolean).join(" ")).join(", ");
      const at = theirs.map((p) => scale(left, room)(p.y)), long = width(words, 12);
      if (Math.max(...at) + 10 + long <= left + room + 8) return { x: Math.max(...at) + 10, lines: [words], down: 0 };
      if (Math.min(...at) - 10 - long >= left) return { x: Math.min(...at) - 10 - long, lines: [words], down: 0 };
      return { x: left, lines: wrap(words, 12, room), down: 1 };
    };
    const rows = [...only, ...measured].map((x) => {
      const bars = figure.series.map((s, n) => [look[n], s.points.find((p) => p.x === x)]).filter(([, point]) => point);
      const theirs = figure.paper.filter((p) => p.x === x);
      const high = (room) => {
        const said = theirs.length ? beside(theirs, 0, room) : null;
        return Math.max(1, bars.length + (said ? 1 : 0)) * (BAR + 2) + (said ? 14 * said.down * said.lines.length : 0);
      };
      return {
        name: x, height: high,
        paint: (left, top, room) => {
          const to = scale(left, room), made = [];
          bars.forEach(([own, point], n) => {
            const y = top + n * (BAR + 2), [a, b] = [to(log ? low : 0), to(point.median)].sort((p, q) => p - q);
            made.push(cg.svg("rect", { x: a.toFixed(1), y, width: Math.max(1, b - a).toFixed(1), height: BAR, fill: alone ? cg.paints.bar : own.colour, "fill-opacity": 0.65 }));
            let end = b;
            if (point.worst != null) {
              const worst = to(point.worst);
              made.push(line(b, y + BAR / 2, worst, y + BAR / 2, ink), cg.mark("triangle", worst, y + BAR / 2, ink));
              end = Math.max(end, worst + 3);
            }
            made.push(text(end + 6, y + 10, both(point), { "font-size": 12, fill: muted }));
          });
          if (theirs.length) {
            const y = top + bars.length * (BAR + 2) + BAR / 2;
            for (const p of theirs) made.push(cg.mark("cross", to(p.y), y, ink));
            const said = beside(theirs, left, room);
            said.lines.forEach((words, n) => made.push(text(said.x, y + 4 + 14 * (n + said.down), words, { "font-size": 12 })));
          }
          return made;
        },
      };
    });
    const series = alone ? [] : figure.series.map((s, n) => ({ name: words(s, figure), look: look[n] }));
    const named = series.filter((s, n) => series.findIndex((o) => o.name === s.name) === n);
    const worst = figure.series.some((s) => s.points.some((p) => p.worst != null));
    return {
      ...about(figure, `${title(figure.y)}${log ? ", logarithmic" : ""}; bars: medians${worst ? " · triangles: worst cases · numbers: both" : ""}`, clock),
      rows, series: named.length > 1 ? named : undefined,
    };
  };

  const profiles = async (figure, clock) => {
    const look = looks(figure);
    const members = await Promise.all(figure.series.map(async (s, n) => {
      const details = s.experiment == null ? null : await cg.details(s.experiment);
      return { name: words(s, figure), look: look[n], curve: details?.curves[0] };
    }));
    const curves = members.filter((m) => m.curve);
    if (!curves.length) return null;
    const max = Math.max(...curves.map((m) => cg.absolute(m.curve.t).pop()), ...figure.paper.map((p) => p.x * 1e3));
    // The paper's places are in µs.
    return { ...cg.profile(curves, { ...about(figure, "", clock), max, unit: ["µs", 1e3] }), marks: figure.paper.map((p) => ({ x: p.x, words: stated(p, figure) })) };
  };

  cg.claimModels = async () => {
    const clocks = cg.index.experiments.map((e) => e.clock);
    const made = await Promise.all(cg.index.figures.map((figure) => {
      const places = figure.series.flatMap((s) => [s.experiment, ...s.points.map((p) => p.experiment)]).filter((n) => n != null);
      const clock = clocks[places[0]] ?? (cg.timeWords[figure.clock] ? figure.clock : "unstated");
      if (figure.form === "profile") return profiles(figure, clock);
      return figure.form === "bars" ? besideOneAnother(figure, clock) : overNumbers(figure, clock);
    }));
    return made.filter(Boolean);
  };

  let models = [];
  const draw = () => {
    const room = cg.at("figures").querySelector(".room");
    room.replaceChildren(cg.grid(models, room.clientWidth));
  };
  cg.showFigures = async () => {
    if (!cg.index.figures.length) return;
    cg.at("figures").hidden = false;
    models = await cg.claimModels();
    draw();
    cg.onWidth(draw);
  };
})();
