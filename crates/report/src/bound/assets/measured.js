// What was measured, beside what it may be at worst.
(() => {
  // Charts that are drawn at once.
  const FIRST = 6;

  const profile = ({ m, bus }, { clock, time }) => {
    const { seen } = m, max = Math.max(seen.limit, seen.max, 1), [, per] = cg.unit(max);
    const words = `${cg.called(m)} on bus ${bus}`;
    const model = cg.profile([{ name: "", look: cg.look(0), curve: seen.curve }], {
      clock, time, max, title: words,
      note: `from end of frame in to start of frame out · ${cg.count(seen.frames)}\u00a0${seen.frames === 1 ? "frame" : "frames"}`,
      description: `worst ${cg.exact(seen.max)} µs, bound ${cg.exact(seen.limit)} µs`,
    });
    return {
      ...model, id: `profile-${bus}-${m.id}`.replace(/[^\w-]/g, "_"),
      // From 0 on, so that its distance to the bound is seen.
      x: { ...model.x, low: Math.min(0, seen.curve.t[0] / per), high: (1.03 * max) / per }, y: { ...model.y, high: Math.max(12, model.y.high) },
      marks: [
        { x: seen.limit / per, words: `bound ${cg.exact(seen.limit)} µs`, colour: "#B3261E" },
        { form: "triangle", x: seen.max / per, y: seen.curve.m.at(-1), words: `worst ${cg.exact(seen.max)} µs, ${cg.share(seen.ratio)}`, colour: seen.above ? "#B3261E" : undefined },
      ],
    };
  };

  const table = (all) => cg.table(
    "Times in µs, from end of frame in to start of frame out. The bound here is what a frame can wait in its port, and what the gateway takes.",
    ["message", "bus", "port", "frames", "median", "worst", "bound", "worst / bound", "frames above"],
    all.map(({ m, bus }) => [cg.called(m), bus, m.seen.port, cg.count(m.seen.frames), cg.exact(m.seen.p50), cg.exact(m.seen.max), cg.exact(m.seen.limit), cg.share(m.seen.ratio),
      m.seen.above ? cg.html("span", { class: "bad" }, cg.count(m.seen.above)) : "0"]), { class: "scroll cards" });

  const above = (all) => all.flatMap(({ m, bus }) => {
    const more = m.seen.above - m.seen.named.length;
    return [...m.seen.named.map((f) => cg.html("li", { class: "bad" }, `Frame ${f.tag}, ${cg.called(m)} on bus ${bus}, end of frame at ${cg.count(f.end)} ns: ${cg.exact(f.latency)} µs, the bound is ${cg.exact(m.seen.limit)} µs`)),
      ...(more ? [cg.html("li", { class: "bad" }, `and ${cg.count(more)} more of ${cg.called(m)}`)] : [])];
  });

  cg.showMeasured = (data) => {
    const section = cg.at("measured"), { measured } = data;
    if (!measured) { section.hidden = true; return; }
    const all = data.buses.flatMap((bus) => bus.messages.filter((m) => m.seen).map((m) => ({ m, bus: bus.name })));
    all.sort((a, b) => b.m.seen.ratio - a.m.seen.ratio);
    const time = measured.time || cg.timeWords[measured.clock], others = [];
    if (measured.strange) others.push(`${cg.count(measured.strange)} frames are not of the set`);
    if (measured.unbounded) others.push(`${cg.count(measured.unbounded)} frames are of messages without a bound`);
    const said = [`${measured.name}: ${time}.`, all.length ? "The nearest to its bound comes first." : "No frame could be compared with a bound.", others.length ? `In addition, ${others.join(", and ")}.` : null];
    const room = cg.html("div", {}), wrong = above(all);
    let shown = FIRST;
    const draw = () => {
      const models = all.slice(0, shown).map((one) => profile(one, { clock: measured.clock, time }));
      room.replaceChildren(cg.grid(models, room.clientWidth), ...(all.length > shown ? [cg.html("button", { type: "button", class: "more", onclick: () => { shown = all.length; draw(); } }, `Show all ${cg.count(all.length)} profiles`)] : []));
    };
    section.replaceChildren(cg.html("h2", {}, "Measured beside the bound"), cg.html("p", { class: "said" }, said.filter(Boolean).join(" ")),
      ...(wrong.length ? [cg.html("h3", {}, "Frames above their bound"), cg.html("ul", {}, wrong)] : []), room, ...(all.length ? [table(all)] : []));
    draw();
    cg.onWidth(draw);
  };
})();
