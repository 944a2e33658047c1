// What stands beside curves in a chart: single points with a form and a word of their own, and which curves lie
// on one another.
(() => {
  // Forms around where the pen is: of what was measured, and of what somebody else states.
  const FORMS = { dot: "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", triangle: "m0-4.5l4.2 7.5h-8.4z", cross: "m-4.5-4.5l9 9m0-9l-9 9" };

  cg.mark = (form, x, y, colour) => cg.svg("path", {
    d: `M${x.toFixed(1)} ${y.toFixed(1)}${FORMS[form]}`, class: `mark ${form}`, "data-form": form,
    fill: form === "dot" ? colour : "none", stroke: colour, "stroke-width": form === "cross" ? 2 : 1.4,
  });

  // `marks`: form, x, y, colour, words; without y it is a line from top to bottom at x.
  cg.putMarks = (svg, marks, box, px, py) => {
    const group = cg.svg("g", { class: "marks" }), { ink, text, line, width, wrap } = cg.paints;
    const taken = [];
    for (const { form, x, y, colour = ink, words } of marks) {
      const at = px(x), up = y == null ? box.top : py(y);
      if (!Number.isFinite(at) || !Number.isFinite(up)) continue;
      if (y == null) group.append(line(at, box.top, at, box.bottom, colour, { "stroke-dasharray": "3 3", class: "mark at", "data-form": "at" }));
      else group.append(cg.mark(form, at, up, colour));
      if (!words) continue;
      // Words stand right of the mark, or left of it where there is no room, on several lines where there is none either;
      // and where no others do.
      const right = box.right - at - 8, before = at - 12 - box.left, left = width(words, 12) > right && before > right;
      const lines = wrap(words, 12, Math.max(left ? before : right, 80));
      const spans = lines.map((part, n) => ({ part, long: width(part, 12), down: 14 * n })).map((of) => ({ ...of, from: left ? at - 8 - of.long : at + 8 }));
      let row = Math.max(box.top + 12, up + (y == null ? 12 : 4));
      const meets = ({ from, long, down }) => taken.some((t) => t.from < from + long + 6 && from < t.to + 6 && Math.abs(t.at - row - down) < 14);
      while (spans.some(meets)) row += 14;
      for (const { part, from, long, down } of spans) {
        taken.push({ from, to: from + long, at: row + down });
        // Readable on a curve.
        group.append(text(from, row + down, part, { "font-size": 12, stroke: "#FFFFFF", "stroke-width": 3, "paint-order": "stroke", "stroke-linejoin": "round" }));
      }
    }
    if (marks.length) svg.append(group);
  };

  // Where a curve is, in steps of 4 pixels across.
  const STEP = 4;
  const course = (points, stairs, box) => {
    const at = new Map();
    for (let i = 1; i < points.length; i++) {
      const [x0, y0] = points[i - 1], [x1, y1] = points[i];
      for (let x = Math.ceil(x0 / STEP) * STEP; x <= Math.min(x1, box.right); x += STEP) {
        at.set(x, stairs ? y1 : y0 + ((y1 - y0) * (x - x0)) / Math.max(x1 - x0, 1e-9));
      }
    }
    return at;
  };
  const NEAR = 2, MOST = 14;
  const alike = (a, b) => {
    if (!a.size || !b.size) return false;
    let both = 0, near = 0;
    for (const [x, y] of a) if (b.has(x)) { both++; near += Math.abs(y - b.get(x)) <= NEAR; }
    return both >= 0.9 * Math.max(a.size, b.size) && near >= 0.95 * both;
  };

  // In words, which curves cannot be told apart where they are drawn, and which are one point only.
  cg.overlaps = (model, drawn, box) => {
    if (!["stairs", "line"].includes(model.kind)) return [];
    const named = drawn.filter((s) => s.name && s.points.length).slice(0, MOST);
    if (named.length < 2) return [];
    const said = [];
    const points = named.filter((s) => s.points.every((p) => p[2] === s.points[0][2]));
    if (model.kind === "stairs" && points.length) {
      const where = [...new Set(points.map((s) => `${cg.short(s.points[0][2])} ${model.x.unit}`))];
      said.push(`One value only, and so no curve: ${points.map((s) => s.name).join("; ")} (${where.join("; ")}).`);
    }
    const courses = named.map((s) => (points.includes(s) ? new Map() : course(s.points, model.kind === "stairs", box)));
    const grouped = new Set();
    named.forEach((s, n) => {
      if (grouped.has(n)) return;
      const same = named.map((_, m) => m).filter((m) => m > n && !grouped.has(m) && alike(courses[n], courses[m]));
      if (!same.length) return;
      same.forEach((m) => grouped.add(m));
      said.push(`On one another: ${[n, ...same].map((m) => named[m].name).join("; ")}.`);
    });
    return said;
  };
})();
