// What the page says of a message, in words and figures.
(() => {
  // In the order of the data's parts: the name, what it is, its colour.
  cg.parts = [
    ["earlier buses", "on the buses before, to the end of the frame there", "#8A8A8A"],
    ["gateway", "in the gateway", "#009E73"],
    ["network", "between two gateways: packing, queues, play-out", "#117733"],
    ["jitter", "from the event to the release", "#56B4E9"],
    ["lower", "a frame of lower priority, which is on the bus already", "#E69F00"],
    ["ahead", "frames of the same message and queue ahead of it", "#CC79A7"],
    ["pauses", "until a mailbox is filled, and frames of lower priority that begin meanwhile", "#F0E442"],
    ["higher", "frames of higher priority", "#D55E00"],
    ["errors", "error frames, and frames that were destroyed", "#000000"],
    ["frame", "the frame itself", "#0072B2"],
  ];

  cg.called = (m) => (m.name ? `${m.id} ${m.name}` : m.id);
  cg.slack = (m) => (m.bound == null ? -Infinity : m.deadline - m.bound);
  // Nanoseconds as microseconds, all digits that are there.
  cg.exact = (ns) => cg.micros(ns).replace(/\.?0+$/, "");
  // A bound, with a star if it depends on a time that was measured or stated.
  cg.bounded = (m) => cg.exact(m.bound) + (m.conditional ? "*" : "");
  // What is not all of it is not written as all of it.
  cg.share = (ratio) => {
    const text = (100 * ratio).toFixed(1);
    return `${text === "100.0" && ratio !== 1 ? (ratio > 1 ? ">" : "<") : ""}${text} %`;
  };
  // A probability, in few digits.
  cg.chance = (p) => (p >= 1 ? "1" : p === 0 ? "0" : p.toExponential(1).replace("e-", "e−"));

  const plural = (n, one, many) => `${cg.count(n)} ${n === 1 ? one : many}`;
  // What a message's verdict is, short.
  cg.verdict = (m) => {
    if (m.bound == null) return "no bound";
    const slack = cg.slack(m);
    return slack < 0 ? `MISSED by ${cg.exact(-slack)}` : `slack ${cg.exact(slack)}`;
  };

  // All of it in one sentence, for who listens.
  cg.aloud = (m) => {
    if (m.bound == null) return `${cg.called(m)}: no bound: ${m.why}`;
    const parts = m.drawn.map((ns, n) => [ns, cg.parts[n]]).filter(([ns]) => ns).map(([ns, [name]]) => `${name} ${cg.exact(ns)}`);
    const seen = m.seen ? `; measured at most ${cg.share(m.seen.ratio)} of its bound` : "";
    return `${cg.called(m)}: bound ${cg.exact(m.bound)} µs of ${cg.exact(m.deadline)} µs, ${cg.verdict(m)}: ${parts.join(", ")}${seen}`;
  };

  // In which order a node sends, and how many frames wait in it.
  cg.aboutNode = (node) => {
    const waits = node.backlog == null ? "frames wait without a bound" : `at most ${plural(node.backlog, "frame waits", "frames wait")}`;
    const room = node.room == null ? "" : `, room for ${cg.count(node.room)}`;
    const order = node.order === "arrival" ? "in order of arrival" : "in order of priority";
    return [`${node.name}: ${plural(node.mailboxes, "mailbox", "mailboxes")}${node.filled ? `, ${node.filled}` : ""}, `, cg.html("span", { class: node.overflows ? "bad" : null }, `${waits}${room}`), `: sends ${order}`];
  };

  cg.assumed = (names) => (names.length > 6 ? `${cg.count(names.length)} nodes are` : `${names.join(", ")} ${names.length === 1 ? "is" : "are"}`)
    + " assumed to send in order of priority; set `mailboxes = N` in the message set to verify it";
})();
