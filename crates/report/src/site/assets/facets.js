// Filters: for each setting that differs, its values and how many experiments each would leave.
(() => {
  const toggle = (key, value) => cg.change((state) => {
    const chosen = state.facets.get(key) ?? new Set();
    if (!chosen.delete(value)) chosen.add(value);
    state.facets.set(key, chosen);
  });

  const MANY = 12;
  const unfolded = new Set();

  const facet = (key, values) => {
    const chosen = cg.state.facets.get(key) ?? new Set();
    const counts = cg.counts(key);
    const many = values.length > MANY && !unfolded.has(key);
    const seen = many ? values.filter((v, n) => n < MANY || chosen.has(v)) : values;
    const boxes = seen.map((value) => cg.html("label", { class: counts.get(value) ? null : "none" },
      cg.html("input", { type: "checkbox", checked: chosen.has(value), "data-facet": key, "data-value": value, onchange: () => toggle(key, value) }),
      cg.html("span", { class: "value" }, value === "" ? "not stated" : value), " ",
      cg.html("span", { class: "count" }, cg.count(counts.get(value) ?? 0))));
    const more = seen.length < values.length && cg.html("button", {
      type: "button", class: "plain", onclick: () => { unfolded.add(key); cg.showFacets(); },
    }, `${values.length - seen.length} more`);
    return cg.html("fieldset", {}, cg.html("legend", {}, key), boxes, more || null);
  };

  // What an address asks for and no experiment has: shown, or nothing would explain the empty table.
  const strange = (key, values) => [...(cg.state.facets.get(key) ?? [])].filter((v) => !values.includes(v));

  cg.showFacets = () => {
    const focus = document.activeElement?.dataset ?? {};
    const made = [];
    cg.index.settings.forEach((key, n) => {
      const values = [...new Set(cg.index.experiments.map((e) => e.settings[n]))].sort(cg.compare);
      const all = [...values, ...strange(key, values)];
      // Almost each has a value of its own (a seed): nothing to filter by, unless an address does.
      const scattered = all.length > 2 * MANY && 2 * all.length > cg.index.experiments.length;
      if (all.length > 1 && !(scattered && !cg.state.facets.get(key)?.size)) made.push(facet(key, all));
    });
    const any = [...cg.state.facets.values()].some((chosen) => chosen.size);
    made.push(cg.html("button", { type: "button", disabled: !any, onclick: () => cg.change((s) => s.facets.clear()) }, "Clear filters"));
    cg.at("facets").replaceChildren(...made);
    // What had the focus was made anew.
    if (focus.facet) {
      [...cg.at("facets").querySelectorAll("input")].find((i) => i.dataset.facet === focus.facet && i.dataset.value === focus.value)?.focus();
    }
  };
})();
