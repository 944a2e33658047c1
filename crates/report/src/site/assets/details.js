// Everything about one experiment, in a dialog.
(() => {
  const latencies = (e) => {
    const words = (cost) => (cost === 0 ? "as measured" : `at ${cost >= 1000 ? `${cost / 1000} µs` : `${cost} ns`} a register access`);
    const lines = cg.index.costs.map((cost, n) => [words(cost), e.latency[n]]).filter(([, f]) => f)
      .map(([name, f]) => [name, cg.count(f.count), ...["min", "p50", "p99", "p999", "max"].map((k) => cg.micros(f[k]))]);
    if (!lines.length) return cg.html("p", {}, "No frame came in and went out, so there is no latency.");
    return cg.table(`Latency in µs of ${cg.timeWords[e.clock]}`, ["", "frames", "min", "p50", "p99", "p99.9", "max"], lines);
  };

  const accesses = (e) => {
    if (!e.accesses) return "not counted";
    const { frames, sum, min, max } = e.accesses;
    return `${(sum / frames).toFixed(2)} a frame on average, ${min} to ${max}, counted for ${cg.count(frames)} frames`;
  };

  const lossWords = (e, { runs, longest, unplaced, span }) => {
    if (!e.lost) return `none of ${cg.count(e.sent)}`;
    const where = runs ? `; ${cg.count(runs)} times, at most ${cg.count(longest)} one after the other, in ${(span / 1e9).toFixed(3)} s` : "";
    return `${cg.count(e.lost)} of ${cg.count(e.sent)} (${cg.percent(e.lost, e.sent)})${where}${unplaced ? `; ${cg.count(unplaced)} without a stamp` : ""}`;
  };

  const content = (e, details) => {
    const facts = [["File", `${e.name}.parquet`], ["Lost", lossWords(e, details.losses)], ["Reordered", cg.count(e.reordered)],
      ["Duplicated", cg.count(e.duplicated)], ["Register accesses", accesses(e)],
      ["What became of the frames", details.fates.map(([fate, n]) => `${cg.count(n)} ${fate}`).join(", ") || "no frame was sent"]];
    const config = ([name]) => name === "Configuration";
    const list = [...facts, ...details.description.filter((d) => !config(d))];
    const text = details.description.find(config)?.[1];
    return [latencies(e), cg.list(list, ["Command", "File"]), text ? cg.folded("Configuration", text) : null];
  };

  let shown = null;
  cg.showDetails = async () => {
    const dialog = cg.at("details"), place = cg.state.open;
    if (place === shown) return;
    shown = place;
    if (place == null) { dialog.close(); return; }
    const e = cg.index.experiments[place], details = await cg.details(place);
    if (shown !== place) return;
    const close = cg.html("button", { type: "button", onclick: () => cg.change((s) => { s.open = null; }) }, "Close");
    dialog.replaceChildren(cg.html("div", { class: "bar" }, cg.html("h2", { id: "details-name" }, e.title || e.name), close),
      ...(details ? content(e, details) : [cg.html("p", { class: "bad" }, `data/${place}.js is missing or damaged.`)]).filter(Boolean));
    if (!dialog.open) dialog.showModal();
  };
  cg.watchDetails = () => cg.at("details").addEventListener("close", () => {
    shown = null;
    if (cg.state.open != null) cg.change((s) => { s.open = null; });
  });
})();
