// What is chosen, and the address that says so: #kernel=6.1,6.12&pick=a/b,c&sort=-max.
(() => {
  const state = cg.state = {
    facets: new Map(),   // setting -> Set of values
    picks: [],           // places in the index
    sort: "name",
    down: false,
    log: false,          // latency axis
    cost: 0,             // place in the index's costs
    open: null,          // whose details are open
  };
  let listeners = [];
  cg.onChange = (listener) => listeners.push(listener);

  const encode = (text) => encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":");
  const list = (texts) => texts.map(encode).join(",");

  const hash = () => {
    const parts = [];
    for (const key of cg.index.settings) {
      const chosen = state.facets.get(key);
      if (chosen?.size) parts.push(`${key}=${list([...chosen].sort(cg.compare))}`);
    }
    if (state.picks.length) parts.push(`pick=${list(state.picks.map((n) => cg.index.experiments[n].name))}`);
    if (state.sort !== "name" || state.down) parts.push(`sort=${state.down ? "-" : ""}${encode(state.sort)}`);
    if (state.log) parts.push("x=log");
    if (state.cost) parts.push(`access=${cg.index.costs[state.cost]}`);
    if (state.open != null) parts.push(`open=${encode(cg.index.experiments[state.open].name)}`);
    return "#" + parts.join("&");
  };
  cg.pickLink = (places) => `#pick=${list(places.map((n) => cg.index.experiments[n].name))}`;

  // An address may have been typed: what it names and is not there is passed over.
  const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  const read = () => {
    const given = new Map();
    for (const part of location.hash.slice(1).split("&")) {
      const at = part.indexOf("=");
      if (at > 0) given.set(part.slice(0, at), part.slice(at + 1).split(",").map(decode));
    }
    const place = (name) => cg.places.get(name);
    state.facets = new Map(cg.index.settings.filter((key) => given.has(key)).map((key) => [key, new Set(given.get(key))]));
    state.picks = [...new Set((given.get("pick") ?? []).map(place).filter((n) => n !== undefined))];
    const sort = given.get("sort")?.[0] ?? "name";
    state.down = sort.startsWith("-");
    state.sort = sort.replace(/^-/, "");
    state.log = given.get("x")?.[0] === "log";
    state.cost = Math.max(0, cg.index.costs.indexOf(Number(given.get("access")?.[0] ?? 0)));
    state.open = place(given.get("open")?.[0]) ?? null;
  };

  const tell = () => { for (const listener of listeners) listener(); };
  let written = null;
  cg.change = (how) => {
    how(state);
    written = hash();
    // Not a step of the history for each tick; links to selections are.
    history.replaceState(null, "", written);
    tell();
  };
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    written = location.hash;
    read();
    tell();
  });
  cg.readAddress = read;

  const passes = (experiment, without) => cg.index.settings.every((key, n) => {
    const chosen = state.facets.get(key);
    return key === without || !chosen?.size || chosen.has(experiment.settings[n]);
  });

  // How many experiments each value of a setting would leave, all other filters as they are.
  cg.counts = (key) => {
    const n = cg.index.settings.indexOf(key), counts = new Map();
    for (const experiment of cg.index.experiments) {
      const value = experiment.settings[n];
      counts.set(value, (counts.get(value) ?? 0) + (passes(experiment, key) ? 1 : 0));
    }
    return counts;
  };

  // Places of the experiments that the filters leave, sorted.
  cg.left = () => {
    const all = cg.index.experiments;
    const column = cg.columns.find((c) => c.key === state.sort) ?? cg.columns[0];
    const value = all.map((e) => column.value(e));
    const order = (a, b) => {
      const [x, y] = [value[a], value[b]];
      if (x == null || y == null) return (x == null) - (y == null);   // nothing stays last
      const by = typeof x === "string" ? cg.compare(x, y) : x - y;
      return state.down ? -by : by;
    };
    return all.map((_, n) => n).filter((n) => passes(all[n])).sort((a, b) => order(a, b) || a - b);
  };

  const FEW = 12, FIRST = 6;
  // What is drawn: what is ticked; else what the filters leave, or the first of it.
  cg.chosen = (left) => {
    if (state.picks.length) return state.picks;
    return left.length <= FEW ? left : left.slice(0, FIRST);
  };
})();
