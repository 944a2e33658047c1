// Charts of chosen experiments, before they are drawn.
(() => {
  const settingsOf = (experiment) => cg.index.settings.map((key, n) => [key, experiment.settings[n]]);
  // A setting in words that need no heading.
  const words = {
    bench: (v) => `${v} bench`, gateway: (v) => (v === "none" ? "no gateway" : v), traffic: (v) => v,
    load: (v) => (v === "none" ? "no load" : `load ${v}`), payload: (v) => (/^\d+$/.test(v) ? `${v} B` : `payload ${v}`),
    filters: (v) => (v === "none" ? "no filters" : `filters ${v}`), modify: (v) => (v === "none" ? "unchanged" : `modify ${v}`),
    hops: (v) => (v === "0" ? "no hops" : `hops ${v}`), priority: (v) => (v === "softirq" ? "softirq first" : `priority ${v}`),
    task: (v) => ({ "round-trip": "round trips", loop: "own frames", receive: "receiving" }[v] ?? v), tuning: (v) => (v === "none" ? "not tuned" : v),
    machines: (v) => `${v} machines`, others: (v) => `others: ${v}`, order: (v) => (v === "fifo" ? "one queue" : "a queue each"),
    budget: (v) => (v === "0" ? "no budget" : `budget ${v} frames/s`), incident: (v) => (v === "none" ? "no incident" : v),
  };
  const say = ([key, value]) => (words[key] ? words[key](value) : `${key} ${value}`);

  // What all of them share, and each one's name by what they do not.
  cg.distinguish = (places) => {
    const experiments = places.map((n) => cg.index.experiments[n]);
    const common = [], differing = [];
    cg.index.settings.forEach((key, n) => {
      const first = experiments[0]?.settings[n];
      (experiments.every((e) => e.settings[n] === first) ? common : differing).push(key);
    });
    const pairs = (e, keys) => settingsOf(e).filter(([key, value]) => keys.includes(key) && value !== "");
    const quiet = ["clock", "seed", "frames", "stamp-every"];
    const name = (e, but) => pairs(e, differing.filter((k) => !but.includes(k))).map(say).join(", ");
    // What an experiment does without is left out, where something else is left to say.
    const without = ([key, v]) => (["load", "filters", "modify", "boot", "tuning", "incident"].includes(key) && v === "none") || (["hops", "budget"].includes(key) && v === "0") || (["priority", "order"].includes(key) && v === (key === "order" ? "priority" : "gateway"));
    // What goes without saying where all have it.
    const usual = ([key, v]) => (key === "task" && v === "gateway") || (key === "tuning" && v === "none");
    const plain = (e) => pairs(e, differing.filter((k) => !quiet.includes(k))).filter((pair) => !without(pair));
    let names = experiments.map((e) => plain(e).map(say).join(", "));
    // Two that are alike are told by what is of less interest, then by their files.
    const ways = [(e) => name(e, quiet), (e) => name(e, ["clock"]), (e) => e.name];
    for (const way of ways) {
      const uses = new Map();
      for (const words of names) uses.set(words, (uses.get(words) ?? 0) + 1);
      names = names.map((words, n) => (!words || uses.get(words) > 1 ? way(experiments[n]) : words));
    }
    const conditions = experiments.length ? pairs(experiments[0], common.filter((k) => !quiet.includes(k))).filter((pair) => !usual(pair)).map(say).join(" · ") : "";
    return { conditions, names };
  };

  // All gateways of the site, in the order of their colours.
  cg.gateways = () => {
    const n = cg.index.settings.indexOf("gateway");
    return [...new Set(cg.index.experiments.map((e) => e.settings[n]))].sort(cg.compare);
  };

  // More curves than this the eye does not tell apart: the others are thin and grey.
  const MOST = 14;
  // One colour a gateway and one dash for what else differs. Where all have the same gateway, the first setting that
  // differs has the colours.
  cg.looksOf = (places) => {
    const { experiments, settings } = cg.index, at = (n, place) => experiments[place].settings[n];
    const quiet = ["clock", "seed", "frames", "stamp-every"];
    const differing = settings.map((_, n) => n).filter((n) => !quiet.includes(settings[n]) && new Set(places.map((place) => at(n, place))).size > 1);
    const gateway = settings.indexOf("gateway"), key = differing.includes(gateway) ? gateway : differing[0];
    if (key === undefined) return places.map((_, n) => (n < MOST ? cg.look(n) : cg.look(cg.looks)));
    const here = [...new Set(places.map((place) => at(key, place)))].sort(cg.compare), everywhere = cg.gateways();
    const order = key === gateway && everywhere.length <= cg.colours.length ? everywhere : here;
    const rest = (place) => differing.filter((n) => n !== key).map((n) => at(n, place)).join("\n");
    const dashes = [...new Set(places.map(rest))];
    const used = new Set(), least = new Map();
    return places.map((place) => {
      const colour = order.indexOf(at(key, place));
      // One dash for each of the rest, or, where there are more of them than dashes, the next one of this colour.
      let dash = dashes.length <= cg.dashes.length ? dashes.indexOf(rest(place)) : least.get(colour) ?? 0;
      while (used.has(`${colour} ${dash}`)) dash++;
      if (colour >= cg.colours.length || dash >= cg.dashes.length || used.size >= MOST) return cg.look(cg.looks);
      used.add(`${colour} ${dash}`);
      least.set(colour, dash + 1);
      return { colour: cg.colours[colour], dash: cg.dashes[dash], mark: dash };
    });
  };

  const costWords = () => (cg.state.cost ? ` · each register access charged ${["0", "100 ns", "1 µs"][cg.state.cost] ?? `${cg.index.costs[cg.state.cost]} ns`} more` : "");
  const stamps = (members) => {
    const texts = [...new Set(members.map((m) => m.line.stamp).filter(Boolean))];
    if (!texts.length) return "what the stamps mark is not stated";
    return "stamps mark " + (texts.length < 3 ? texts.join("; or ") : `${texts.length} different things, see the experiments`);
  };
  // Some results have no latency at the cost that is chosen: their accesses were not counted.
  const figures = (member) => member.line.latency[cg.state.cost];
  const without = (members) => {
    const none = members.filter((m) => !figures(m)).length;
    if (!none) return "";
    return ` · ${none} of ${members.length} not drawn: ${cg.state.cost ? "accesses not counted, or " : ""}no frame came out`;
  };
  const greatest = (members) => Math.max(0, ...members.map((m) => figures(m)?.max ?? 0));
  const onLog = (members) => (cg.state.log && members.some((m) => figures(m)?.min <= 0)
    ? " · latencies of 0 and less have no place on a logarithmic axis" : "");

  const curves = (members) => members.filter(figures).map((m) => ({ name: m.name, look: m.look, curve: m.details.curves[cg.state.cost] }));

  const profile = (members, about) => cg.profile(curves(members), {
    ...about, max: greatest(members), log: cg.state.log,
    note: `${stamps(members)}${costWords()}${without(members)}${onLog(members)}`,
  });

  const cdf = (members, about) => {
    const [name, per] = cg.unit(greatest(members));
    const series = curves(members).map(({ name: words, look, curve }) => {
      const points = cg.steps(curve, per, (m) => (100 * (curve.m[0] - m)) / curve.m[0]);
      return { name: words, look, points: [...points, [points[points.length - 1][0], 100]] };
    });
    return {
      id: "latency-cdf", title: "Cumulative distribution", kind: "stairs", ...about,
      note: `${stamps(members)} · of the frames that came out${costWords()}${without(members)}${onLog(members)}`,
      x: { title: `latency (${name})`, unit: name, log: cg.state.log },
      y: { title: "frames with less than this latency (%)", unit: "%", low: 0, high: 104 }, series,
    };
  };

  const overTime = (members, about) => {
    const cost = cg.index.costs[cg.state.cost];
    const drawn = members.filter((m) => figures(m) && (!cost || m.details.time.a));
    const clouds = drawn.map((m) => {
      const { x, y, a, of } = m.details.time;
      return { name: m.name, look: m.look, cloud: { x, y: y.map((v, i) => v + cost * (a ? a[i] : 0)), of } };
    });
    return cg.overTime(clouds, {
      ...about, max: greatest(members), log: cg.state.log,
      note: `${stamps(members)}${costWords()}`, after: without(members),
      when: "end of the incoming frame (s since the first)",
    });
  };

  const ROWS = 40;
  const worst = (members) => [...members].sort((a, b) => b.line.lost / (b.line.sent || 1) - a.line.lost / (a.line.sent || 1));

  const losses = (members, about) => {
    const shown = worst(members).slice(0, ROWS);
    const share = (line) => (line.sent ? line.lost / line.sent : 0);
    const most = Math.max(...shown.map((m) => share(m.line)), 1e-9);
    const rest = members.length > ROWS ? ` · the ${ROWS} of ${members.length} that lost the greatest share` : "";
    const rows = shown.map((m) => ({
      name: m.name,
      paint: (x, y, w, h) => {
        const words = `${cg.count(m.line.lost)} of ${cg.count(m.line.sent)} (${cg.percent(m.line.lost, m.line.sent)})`;
        const room = Math.max(40, w - cg.paints.width(words, 12) - 10), long = room * (share(m.line) / most);
        return [
          cg.svg("rect", { x: x.toFixed(1), y, width: Math.max(m.line.lost ? 1 : 0, long).toFixed(1), height: h, fill: cg.paints.loss }),
          cg.paints.text(x + long + 6, y + 11, words, { "font-size": 12, fill: cg.paints.muted }),
        ];
      },
    }));
    return { id: "loss", title: "Frames lost", rows, ...about, note: `share of the frames sent that never came out in time${rest}` };
  };

  const where = (members, about) => {
    const lossy = worst(members).filter((m) => m.details.losses.lost.length);
    if (!lossy.length) return null;
    const shown = lossy.slice(0, ROWS);
    const rows = shown.map((m) => ({
      name: m.name,
      paint: (x, y, w, h) => {
        const { frames, lost } = m.details.losses;
        const cell = w / frames.length;
        const cells = lost.map((n, i) => n && cg.svg("rect", {
          x: (x + i * cell).toFixed(2), y, width: cell.toFixed(2), height: h, fill: cg.paints.loss,
          "fill-opacity": (0.25 + 0.75 * (n / frames[i])).toFixed(2),
        }));
        return [cg.svg("rect", { x: x.toFixed(1), y, width: w.toFixed(1), height: h, fill: cg.paints.grid }), ...cells.filter(Boolean)];
      },
    }));
    const rest = lossy.length > ROWS ? ` · ${ROWS} of ${lossy.length} with losses` : "";
    return {
      id: "loss-in-run", title: "Where in the run frames were lost", rows, ...about,
      note: `each run in 100 slices by the end of the incoming frame; the stronger, the more of a slice was lost${rest}`,
      below: [[0, "begin", "start"], [0.5, "end of the incoming frame", "middle"], [1, "end", "end"]],
    };
  };

  // All charts of experiments that share a clock.
  cg.models = (clock, members) => {
    const { conditions, names } = cg.distinguish(members.map((m) => m.place));
    members.forEach((m, n) => { m.name = names[n]; });
    const about = { clock, conditions };
    const all = [profile, cg.medians, cg.medianOverPeriod, cg.lossOverPeriod, overTime, cdf, losses, where];
    return all.map((make) => make(members, about)).filter(Boolean);
  };
})();
