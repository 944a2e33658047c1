// What the other files stand on. Text from outside only ever becomes text nodes and attributes.
const cg = {};

(() => {
  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child != null));
    return element;
  };
  cg.html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  cg.svg = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  cg.at = (id) => document.getElementById(id);

  // Digits in groups of three, joined by a narrow space.
  cg.count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");

  // Nanoseconds as microseconds, to the nanosecond.
  cg.micros = (ns) => {
    if (ns == null) return "–";
    const size = Math.abs(ns), whole = Math.floor(size / 1000);
    return `${ns < 0 ? "−" : ""}${cg.count(whole)}.${String(Math.floor(size % 1000)).padStart(3, "0")}`;
  };

  // For readouts: few digits, no loss of size.
  cg.short = (v) => {
    const size = Math.abs(v);
    const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
    return v.toFixed(digits).replace(/\.?0+$/, (zeros) => (zeros.includes(".") ? "" : zeros)).replace("-", "−");
  };

  cg.percent = (part, whole) => {
    if (!whole) return "–";
    const share = (100 * part) / whole;
    return part && share < 0.01 ? "<0.01 %" : `${share.toFixed(share >= 10 ? 1 : 2)} %`;
  };

  // Distances between neighbours as distances from the first one's origin.
  cg.absolute = (steps) => { let at = 0; return steps.map((step) => (at += step)); };

  // The unit that suits nanoseconds up to `max`: its name, and nanoseconds in one.
  cg.unit = (max) => (max < 50e6 ? ["µs", 1e3] : ["ms", 1e6]);

  // The first cell of each line is its name, the others are numbers; each cell names its column,
  // for where a line is shown as a card.
  cg.table = (caption, heads, lines, more = {}) => cg.html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption, ...more },
    cg.html("table", { role: "table" }, cg.html("caption", {}, caption),
      cg.html("thead", { role: "rowgroup" }, cg.html("tr", { role: "row" }, heads.map((h, n) => cg.html("th", { scope: "col", role: "columnheader", class: n ? "number" : null }, h)))),
      cg.html("tbody", { role: "rowgroup" }, lines.map(([first, ...rest]) => cg.html("tr", { role: "row" }, cg.html("th", { scope: "row", role: "rowheader" }, first),
        rest.map((cell, n) => cg.html("td", { class: "number", role: "cell", "data-head": heads[n + 1] }, cell)))))));

  // Names and what is said about each.
  cg.list = (pairs, code = []) => cg.html("dl", {}, pairs.flatMap(([name, text]) =>
    [cg.html("dt", {}, name), cg.html("dd", {}, code.includes(name) ? cg.html("code", {}, text) : text)]));

  // A text that is long and seldom read.
  cg.folded = (name, text) => cg.html("details", {}, cg.html("summary", {}, name), cg.html("pre", {}, cg.html("code", {}, text)));

  // 6.1 before 6.12, "list:80" before "list:2048", "none" before all.
  const collator = new Intl.Collator("en", { numeric: true });
  cg.compare = (a, b) => (b === "none") - (a === "none") || collator.compare(a, b);

  cg.timeWords = { virtual: "virtual time", real: "real time", unstated: "time base not stated" };
  // A chart's clock in words.
  cg.timeOf = (model) => model.time || cg.timeWords[model.clock];
})();
