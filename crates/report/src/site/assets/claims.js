// The papers' claims beside what was measured, each with the way to its experiments.
(() => {
  const signs = { reproduced: "✓", differs: "≠", "not testable here": "–" };

  const way = (claim) => {
    const parts = [];
    if (claim.experiments.length) {
      const n = claim.experiments.length;
      // Beside can-gw's, which a paper's claim is about, those of the same with BPF are drawn.
      const bpf = cg.index.claims.find((c) => c.id === `${claim.id}/bpf`);
      const beside = bpf ? bpf.experiments.filter((e) => !claim.experiments.includes(e)) : [];
      parts.push(cg.html("a", { href: cg.pickLink([...claim.experiments, ...beside]), "data-claim": claim.id, onclick: () => cg.at("drawn").scrollIntoView() },
        n === 1 ? "1 experiment" : `${n} experiments`, beside.length ? `, ${beside.length} with BPF beside` : ""));
    }
    if (claim.missing.length) parts.push(cg.html("span", { class: "bad" }, ` not here: ${claim.missing.join(", ")}`));
    return parts.length ? parts : "–";
  };

  // The papers' claims, the same on other ways through the gateway, and cangate's own bounds: each
  // kind is counted for itself.
  const kinds = {
    paper: { what: ["claim of the papers", "claims of the papers"], from: "paper", good: "Reproduced if" },
    "other-way": { what: ["of them on another way through the gateway, where differing is no fault", "of them on other ways through the gateway, where differing is no fault"], from: "paper", good: "Reproduced if" },
    bound: { what: ["bound that cangate is to keep", "bounds that cangate is to keep"], from: "limit", good: "Compared",
      verdicts: { reproduced: "met", differs: "not met" } },
  };

  const table = (kind, claims) => {
    const { what, from, good, verdicts = {} } = kinds[kind];
    const word = (verdict) => verdicts[verdict] || verdict;
    const of = (verdict) => claims.filter((c) => c.verdict === verdict).length;
    const sums = Object.keys(signs).map((v) => `${of(v)} ${word(v)}`).join(", ");
    const heads = [kind === "bound" ? "bound" : "claim", "", from, "measured", "verdict", "experiments"];
    const cell = (n, ...content) => cg.html("td", { "data-head": heads[n] || (kind === "bound" ? "bound" : "claim") }, ...content);
    const rows = claims.map((c) => cg.html("tr", {}, cg.html("th", { scope: "row" }, c.id),
      cell(1, c.claim, c.criterion ? cg.html("span", { class: "why" }, `${good}: ${c.criterion}`) : null),
      cell(2, c.paper, c.source && kind !== "bound" ? cg.html("span", { class: "why" }, c.source) : null), cell(3, c.measured),
      cell(4, cg.html("span", { class: `verdict ${c.verdict.split(" ")[0]}` }, `${signs[c.verdict]} ${word(c.verdict)}`), cg.html("span", { class: "why" }, c.why)),
      cell(5, way(c))));
    return cg.html("table", { class: kind }, cg.html("caption", {}, `${claims.length} ${what[claims.length === 1 ? 0 : 1]}: ${sums}.`),
      cg.html("thead", {}, cg.html("tr", {}, heads.map((h) => cg.html("th", { scope: "col" }, h)))), cg.html("tbody", {}, rows));
  };

  cg.showClaims = () => {
    const { claims } = cg.index;
    if (!claims.length) return;
    const room = cg.at("claims").querySelector(".scroll");
    for (const kind of Object.keys(kinds)) {
      const of = claims.filter((c) => c.kind === kind);
      if (of.length) room.append(table(kind, of));
    }
    cg.at("claims").hidden = false;
  };
})();
