// The papers' claims beside what was measured, each with the way to its experiments.
(() => {
  const signs = { reproduced: "✓", differs: "≠", "not testable here": "–" };

  const way = (claim) => {
    const parts = [];
    if (claim.experiments.length) {
      const n = claim.experiments.length;
      parts.push(cg.html("a", { href: cg.pickLink(claim.experiments), "data-claim": claim.id, onclick: () => cg.at("drawn").scrollIntoView() },
        n === 1 ? "1 experiment" : `${n} experiments`));
    }
    if (claim.missing.length) parts.push(cg.html("span", { class: "bad" }, ` not here: ${claim.missing.join(", ")}`));
    return parts.length ? parts : "–";
  };

  cg.showClaims = () => {
    const { claims } = cg.index;
    if (!claims.length) return;
    const of = (verdict) => claims.filter((c) => c.verdict === verdict).length;
    const sums = Object.keys(signs).map((v) => `${of(v)} ${v}`).join(", ");
    const heads = ["claim", "", "paper", "measured", "verdict", "experiments"];
    const rows = claims.map((c) => cg.html("tr", {}, cg.html("th", { scope: "row" }, c.id),
      cg.html("td", {}, c.claim, c.criterion ? cg.html("span", { class: "why" }, `Reproduced if: ${c.criterion}`) : null),
      cg.html("td", {}, c.paper, c.source ? cg.html("span", { class: "why" }, c.source) : null), cg.html("td", {}, c.measured),
      cg.html("td", {}, cg.html("span", { class: `verdict ${c.verdict.split(" ")[0]}` }, `${signs[c.verdict]} ${c.verdict}`), cg.html("span", { class: "why" }, c.why)),
      cg.html("td", {}, way(c))));
    cg.at("claims").querySelector(".scroll").append(cg.html("table", {}, cg.html("caption", {}, `${claims.length} claims of the papers: ${sums}. A link draws the experiments that a verdict comes from.`),
      cg.html("thead", {}, cg.html("tr", {}, heads.map((h) => cg.html("th", { scope: "col" }, h)))), cg.html("tbody", {}, rows)));
    cg.at("claims").hidden = false;
  };
})();
