// Puts the page of one run together.
(() => {
  const why = (text) => cg.html("span", { class: "why" }, text);
  const section = (id, title, ...content) => cg.at(id).replaceChildren(cg.html("h2", {}, title), ...content);

  const head = (run) => {
    document.title = run.title;
    cg.at("title").textContent = run.title;
    cg.at("sentence").textContent = run.lead.sentence;
    cg.at("tiles").replaceChildren(...run.lead.tiles.map(({ name, value, note, bad }) => cg.html("div", { class: bad ? "tile alarm" : "tile" },
      cg.html("span", { class: "name" }, name), cg.html("strong", {}, value), cg.html("span", { class: "why" }, note))));
    cg.at("said").textContent = [`All times are ${run.time}, from end of frame in to end of frame out, less the outgoing frame's duration.`, run.lead.why_zero].filter(Boolean).join(" ");
    cg.at("notes").hidden = !run.notes.length;
    cg.at("notes").replaceChildren(...run.notes.map((note) => cg.html("li", {}, note)));
  };

  const routes = (run) => {
    const line = (r) => {
      const f = r.latency;
      const reasons = r.stopped.filter(([reason, n]) => n && reason).map(([reason, n]) => why(`${cg.count(n)} ${reason}`));
      return [[r.name, r.text ? why(r.text) : null].filter(Boolean), cg.count(r.taken), cg.count(r.out), [cg.count(r.stopped_sum), ...reasons], cg.count(f?.count ?? 0),
        ...["min", "p50", "p99", "max"].map((key) => cg.micros(f?.[key]))];
    };
    section("routes", "Routes", cg.table(
      `Frames of each route, and their latency in µs of ${run.time}. Quantiles are by nearest rank: values that occurred.`,
      ["route", "taken", "went out", "stopped", "delivered", "min\u00a0µs", "p50\u00a0µs", "p99\u00a0µs", "max\u00a0µs"], run.routes.map(line), { class: "scroll cards" }));
  };

  const accounts = (run) => {
    const account = ({ title, total, parts, sum, adds_up: good }) => cg.html("div", { class: "account" }, cg.html("table", {},
      cg.html("caption", {}, title),
      cg.html("tbody", {}, parts.map(([name, n]) => cg.html("tr", {}, cg.html("th", { scope: "row" }, name), cg.html("td", { class: "number" }, cg.count(n)))),
        cg.html("tr", { class: "sum" }, cg.html("th", { scope: "row" }, "sum", cg.html("span", { class: `why ${good ? "good" : "bad"}` }, good ? "adds up" : `does not add up: ${cg.count(total)} counted`)),
          cg.html("td", { class: "number" }, cg.count(sum))))));
    section("accounts", "Where every frame went", cg.html("div", { class: "accounts" }, run.accounts.map(account)));
  };

  const buses = (run) => {
    if (!run.buses.length) return;
    const percent = (share) => (100 * share).toFixed(2);
    section("buses", "Buses", cg.table("The highest load is that of one full window of the chart.",
      ["bus", "bit rate", "frames", "error frames", "mean load %", "highest load %"],
      run.buses.map((b) => [b.name, b.bit_rate, cg.count(b.frames), cg.count(b.errors), percent(b.mean), percent(b.highest)]), { class: "scroll cards" }));
  };

  const made = (run) => {
    const text = run.description.find(([name]) => name === "Configuration")?.[1];
    const facts = run.description.filter(([name]) => name !== "Configuration" && name !== "Title");
    section("made", "How this was made", cg.list([...facts,
      ["Latency", "End of the outgoing frame minus end of the incoming frame minus the outgoing frame's duration (stuff bits included, without intermission)."],
      ["Latency profile", "For a latency t, how many frames had t or more. Between two points lie as many frames as their counts differ; the last point is the worst case."],
      ["Rows", `${cg.count(run.rows)}, one for each frame and destination; ${cg.count(run.delivered)} delivered.`],
      ["Processing time", "Real time that the CPU took for a frame on the machine that made the run. It is not part of the latency and never added to it."]], ["Command"]),
    ...(text ? [cg.folded("Configuration", text)] : []), cg.html("p", {}, "Every frame's stamps are in ", cg.html("code", {}, "results.parquet"), " beside this page."));
  };

  const MEANING = "end of frame in to end of frame out, minus the outgoing frame's duration";

  const latencies = (run, about) => {
    const max = run.latency.max;
    const series = run.series.map((s, n) => ({ ...s, look: cg.look(n) })).filter((s) => s.curve);
    const [name, per] = cg.unit(max);
    const worst = series.map((s) => `${s.name}: worst ${cg.short(cg.absolute(s.curve.t).pop() / per)} ${name}`);
    return [
      cg.profile(series, { ...about, max, note: MEANING, description: worst.join("; ") }),
      cg.overTime(series, { ...about, max, note: MEANING, when: `end of the incoming frame (s${run.since_first ? " since the first" : ""})` }),
      histogram(run, about),
    ];
  };

  const histogram = (run, about) => {
    const { width, bars } = run.histogram, [name, per] = cg.unit(run.latency.max);
    const counts = bars.map((b) => b[1]), most = Math.max(...counts);
    // A bar of one frame beside one of thousands is seen on a logarithmic axis only.
    const log = most / Math.min(...counts) > 100;
    return {
      id: "latency-histogram", title: "Latency histogram", kind: "bars", ...about, wide: width / per,
      note: `${MEANING} · all routes · a bar is ${cg.short(width / per)} ${name} wide`,
      x: { title: `latency (${name})`, unit: name },
      y: { title: log ? "frames (logarithmic)" : "frames", unit: "frames", ...(log ? { log, low: 0.7, high: most * 1.3 } : { low: 0, high: most * 1.08 }) },
      series: [{ name: "", look: cg.look(0), points: bars.map(([from, n]) => [from / per, n]) }],
    };
  };

  const load = (run, about) => {
    const series = run.buses.map((b, n) => ({ name: b.name, look: cg.look(n), points: b.load.map(([middle, share]) => [middle / 1e9, 100 * share]) })).filter((s) => s.points.length);
    if (!series.length) return [];
    const most = Math.max(...series.flatMap((s) => s.points.map((p) => p[1])));
    return [{
      id: "bus-load", title: "Bus load over time", kind: "line", ...about, note: `share of busy time in windows of ${cg.short(run.window / 1e6)} ms`,
      description: `At most ${most.toFixed(1)} %`, x: { title: "time (s)", unit: "s" },
      y: { title: "bus load (%)", unit: "%", low: 0, high: most > 50 ? 105 : Math.max(1.25 * most, 1) }, series,
    }];
  };

  // Real time: it has a chart of its own.
  const processing = (run) => {
    const series = run.series.map((s, n) => ({ name: s.name, look: cg.look(n), curve: s.processing })).filter((s) => s.curve);
    if (!series.length) return [];
    const max = Math.max(...series.map((s) => cg.absolute(s.curve.t).pop()));
    return [cg.profile(series, {
      id: "processing-time", title: "Processing time profile", clock: "real", max, log: true, quantity: "processing time",
      unit: max < 20000 ? ["ns", 1] : cg.unit(max), note: "measured on the machine that made this run; not part of any latency",
    })];
  };

  globalThis.cangateRun = (run) => {
    head(run);
    routes(run);
    accounts(run);
    buses(run);
    made(run);
    const about = { clock: run.clock, time: run.time };
    const [profile, ...others] = run.latency ? latencies(run, about) : [];
    const more = [...others, ...load(run, about), ...processing(run)];
    const draw = () => {
      const first = cg.at("profile"), room = cg.at("charts");
      first.replaceChildren(profile ? cg.alone(profile, first.clientWidth) : cg.html("p", {}, "No frame came in and went out, so there is no latency to draw."));
      room.replaceChildren(cg.grid(more, room.clientWidth));
    };
    draw();
    cg.onWidth(draw);
    // For whoever drives the page: it is complete.
    document.documentElement.dataset.ready = Math.round(performance.now());
  };
})();
