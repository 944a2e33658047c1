// Puts the page of worst cases together.
(() => {
  // Bars that are drawn at once: of all buses together, and of each.
  const FIRST = 160, LEAST = 10, MOST = 40;
  const why = (text) => cg.html("span", { class: "why" }, text);

  const ORDERS = {
    slack: (a, b) => (cg.slack(a) < cg.slack(b) ? -1 : cg.slack(a) > cg.slack(b) ? 1 : 0),
    bound: (a, b) => (b.bound ?? Infinity) - (a.bound ?? Infinity) || 0,
    priority: () => 0,
  };

  const head = (data) => {
    const title = data.title ? `Worst cases: ${data.title}` : "Worst cases";
    document.title = title;
    cg.at("title").textContent = title;
    cg.at("sentence").textContent = data.lead.sentence;
    cg.at("tiles").replaceChildren(...data.lead.tiles.map(({ name, value, note, bad }) => cg.html("div", { class: bad ? "tile alarm" : "tile" },
      cg.html("span", { class: "name" }, name), cg.html("strong", {}, value), why(note))));
    cg.at("notes").hidden = !data.notes.length;
    cg.at("notes").replaceChildren(...data.notes.map((note) => cg.html("li", {}, note)));
    cg.at("said").textContent = "A bar is the bound: from the event to the end of the frame, at worst. The upright line is the deadline, an arrow a deadline beyond the axis; red can be missed. Point at a bar, or select it with the keys, for its figures.";
  };

  // All figures of a bus, made when they are asked for.
  const figures = (bus) => {
    const used = cg.parts.map((part, n) => [part, n]).filter(([, n]) => bus.messages.some((m) => m.parts?.[n]));
    const since = bus.messages.some((m) => m.since), late = bus.messages.some((m) => m.late != null), via = bus.messages.some((m) => m.via);
    const slack = (m) => (m.can_miss ? cg.html("span", { class: "bad" }, m.bound == null ? "–" : `−${cg.exact(-cg.slack(m))}`) : cg.exact(cg.slack(m)));
    const line = (m) => [[cg.called(m), m.why ? why(`No bound: ${m.why}`) : null].filter(Boolean), m.node, m.bound == null ? "none" : cg.bounded(m), cg.exact(m.deadline), slack(m),
      ...used.map(([, n]) => (m.parts ? cg.exact(m.parts[n]) : "–")), ...(since ? [m.since ? `−${cg.exact(m.since)}` : "0"] : []), cg.count(m.bits), cg.exact(m.period),
      ...(late ? [m.late == null ? "–" : cg.chance(m.late)] : []), ...(via ? [m.via ?? "–"] : [])];
    return cg.table(`By priority; times in µs. A bound is the sum of its parts${since ? ", less what lies before the event" : ""}.`,
      ["message", "node", "bound", "deadline", "slack", ...used.map(([[name]]) => name), ...(since ? ["before the event"] : []), "bits", "period", ...(late ? ["late, at most"] : []), ...(via ? ["from"] : [])],
      bus.messages.map(line), { class: "scroll cards" });
  };

  const folded = (bus) => cg.html("details", { ontoggle: (event) => { if (event.target.open && event.target.children.length < 2) event.target.append(figures(bus)); } },
    cg.html("summary", {}, `All figures of bus ${bus.name} as a table`));

  const section = (bus, worst, measured, first, order) => {
    const assumed = bus.nodes.filter((node) => node.order === "assumed").map((node) => node.name);
    const nodes = [...bus.nodes.filter((node) => node.order !== "assumed").map(cg.aboutNode), ...(assumed.length ? [[cg.assumed(assumed)]] : [])];
    const room = cg.html("div", {});
    let shown = first;
    const draw = () => {
      const sorted = [...bus.messages].sort(ORDERS[order()]), messages = sorted.slice(0, shown);
      if (!messages.length) { room.replaceChildren(cg.html("p", {}, "No message is on this bus.")); return; }
      const model = {
        draw: cg.drawBounds, id: `bus-${bus.name}`.replace(/[^\w-]/g, "_"), title: `Bounds on bus ${bus.name}`, clock: "computed", time: "bus time, computed",
        note: `${cg.count(messages.length)} of ${cg.count(sorted.length)} messages`, messages, all: bus.messages, worst, measured,
      };
      const figure = cg.alone(model, room.clientWidth);
      cg.tips(figure, messages);
      room.replaceChildren(figure, ...(sorted.length > shown ? [cg.html("button", { type: "button", class: "more", onclick: () => { shown = sorted.length; draw(); } }, `Show all ${cg.count(sorted.length)} messages`)] : []));
    };
    const made = cg.html("section", { class: "bus" }, cg.html("h3", {}, `Bus ${bus.name}: ${bus.bit_rate}, load ${(100 * bus.load).toFixed(1)} %${bus.errors ? `, ${bus.errors}` : ""}`),
      cg.html("ul", { class: "nodes" }, nodes.map((words) => cg.html("li", {}, words))), room, folded(bus));
    return { made, draw };
  };

  const timeouts = (data) => {
    cg.at("timeouts").hidden = !data.timeouts.length;
    if (!data.timeouts.length) return;
    const slack = (t) => (t.longest != null && t.longest < t.time ? cg.exact(t.time - t.longest) : cg.html("span", { class: "bad" }, t.longest == null ? "–" : `−${cg.exact(t.longest - t.time)}`));
    const line = (t) => [[t.message, t.why ? why(`No bound: ${t.why}`) : null].filter(Boolean), t.node, t.bus, cg.exact(t.time), cg.count(t.losses), t.longest == null ? "none" : cg.exact(t.longest) + (t.conditional ? "*" : ""), slack(t), t.source];
    cg.at("timeouts").replaceChildren(cg.html("h2", {}, "Timeouts of receivers"), cg.table("Times in µs. The longest time between two receptions: (losses + 1) times the period, and the bound over all buses less the shortest frames.",
      ["message", "receiver", "bus", "timeout", "losses", "longest", "slack", "from"], data.timeouts.map(line), { class: "scroll cards" }));
  };

  const tunnels = (data) => {
    cg.at("tunnels").hidden = !data.tunnels.length;
    if (!data.tunnels.length) return;
    const one = (tunnel) => {
      const heads = ["gateway", "packing", "queues", tunnel.origin ?? "stated", "play-out"];
      const used = heads.map((name, n) => [name, n]).filter(([, n]) => tunnel.messages.some((m) => m.parts[n]));
      const line = (m) => [m.message, m.urgent ? "urgent" : "packed", ...used.map(([, n]) => cg.exact(m.parts[n])), cg.exact(m.least), `${cg.exact(m.most)}${tunnel.origin ? "*" : ""}`];
      return [cg.html("h3", {}, tunnel.title), cg.html("ul", { class: "nodes" }, [...tunnel.words, ...(tunnel.why ? [`No bound: ${tunnel.why}`] : [])].map((words) => cg.html("li", {}, words))),
        ...(tunnel.messages.length ? [cg.table("Times in µs, from the end of the frame on one bus until the far gateway has it.", ["message", "class", ...used.map(([name]) => name), "at least", "at most"], tunnel.messages.map(line), { class: "scroll cards" })] : [])];
    };
    cg.at("tunnels").replaceChildren(cg.html("h2", {}, "Between gateways"), ...data.tunnels.flatMap(one));
  };

  const about = (data) => {
    const { measured } = data;
    cg.at("margin").hidden = !data.margin;
    if (data.margin) cg.at("margin").replaceChildren(cg.html("h2", {}, "How much worse it may become"), cg.html("ul", {}, data.margin.map((words) => cg.html("li", {}, words))));
    const text = measured?.description.find(([name]) => name === "Configuration")?.[1];
    // Whole files are folded.
    const file = (name) => name === "Message set" ? "The message set" : /^Gateway( \d+)?$/.test(name) ? `${name}: the configuration` : null;
    const made = [...data.made.filter(([name]) => !file(name)), ["Not covered", "Error-passive nodes, overload frames, the time to fill a mailbox where no refill states it, and messages of other nodes that are not in the set."]];
    cg.at("made").replaceChildren(cg.html("h2", {}, "How this was made"), cg.list(made, ["Command"]), ...data.made.filter(([name]) => file(name)).map(([name, text]) => cg.folded(file(name), text)),
      ...(measured ? [cg.html("h3", {}, `How ${measured.name} was made`), cg.list(measured.description.filter(([name]) => name !== "Configuration"), ["Command"])] : []),
      ...(text ? [cg.folded("Its configuration", text)] : []));
  };

  globalThis.cangateBound = (data) => {
    head(data);
    tunnels(data);
    timeouts(data);
    const worst = data.buses.flatMap((bus) => bus.messages).reduce((a, b) => (a && cg.slack(a) <= cg.slack(b) ? a : b), null);
    const order = cg.at("order"), first = Math.max(LEAST, Math.min(MOST, Math.floor(FIRST / data.buses.length)));
    const sections = data.buses.map((bus) => section(bus, worst, data.measured, first, () => order.value));
    cg.at("buses").replaceChildren(...sections.map(({ made }) => made));
    const draw = () => sections.forEach((one) => one.draw());
    draw();
    cg.onWidth(draw);
    order.addEventListener("change", draw);
    cg.showMeasured(data);
    about(data);
    // For whoever drives the page: it is complete.
    document.documentElement.dataset.ready = Math.round(performance.now());
  };
})();
