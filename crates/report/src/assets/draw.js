// A chart as SVG. palette.css turns the colours for the dark;
// series differ by colour and by dash or mark, so that either will do alone.
(() => {
  const INK = "#1B1B1B", MUTED = "#5A5A5A", AXIS = "#8A8A8A", GRID = "#E4E4E4";
  // The two blues stand so that they never share a dash among the first 25.
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"];
  const DASHES = [null, "7 3", "2 2.5", "10 3 2 3", "16 4"];
  // Paths of a dot's forms, around where the pen is.
  const MARKS = ["m-2-2h4v4h-4z", "m-2.5 0h5m-2.5-2.5v5", "m0-3l3 3l-3 3l-3-3z", "m-2-2l4 4m0-4l-4 4", "m0-3l2.6 5h-5.2z"];
  const FAMILY = "system-ui, 'DejaVu Sans', sans-serif";
  const FONT = 13;

  // As many series have a look of their own.
  cg.looks = COLOURS.length * DASHES.length;
  cg.look = (n) => (n < cg.looks
    ? { colour: COLOURS[n % COLOURS.length], dash: DASHES[n % DASHES.length], mark: n % MARKS.length }
    : { colour: AXIS, dash: null, mark: 0, faint: true });

  const pen = document.createElement("canvas").getContext("2d");
  let held = 0;
  const width = (text, size) => {
    // Setting a font takes longer than measuring.
    if (size !== held) pen.font = `${(held = size)}px ${FAMILY}`;
    return pen.measureText(text).width;
  };
  const cut = (text, size, most) => {
    if (width(text, size) <= most) return text;
    let n = text.length;
    while (n > 1 && width(text.slice(0, n) + "…", size) > most) n = Math.min(n - 1, Math.ceil(n * 0.9));
    return text.slice(0, n) + "…";
  };
  const wrap = (text, size, most) => {
    const lines = [];
    // A narrow space within a number is no place to break.
    for (const word of text.split(/[ \t\n]+/)) {
      const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
      if (lines.length && width(longer, size) <= most) lines[lines.length - 1] = longer;
      else lines.push(cut(word, size, most));
    }
    return lines;
  };
  const text = (x, y, words, more = {}) =>
    cg.svg("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": FONT, "font-family": FAMILY, fill: INK, ...more }, words);
  const line = (x1, y1, x2, y2, stroke, more = {}) =>
    cg.svg("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), stroke, ...more });

  // A picture with nothing on it but its name.
  const sheet = (model, role = "img") => {
    const svg = cg.svg("svg", { xmlns: "http://www.w3.org/2000/svg", role, "aria-label": `${model.title}, ${cg.timeOf(model)}` });
    svg.append(cg.svg("title", {}, model.title), cg.svg("desc", {}, `${cg.timeOf(model)}. ${model.note}.${model.description ? ` ${model.description}.` : ""}`));
    svg.append(cg.svg("rect", { class: "ground", width: "100%", height: "100%", fill: "#FFFFFF" }));
    return svg;
  };

  // Title, conditions and note; gives the y below them.
  const head = (svg, model, w) => {
    let y = 20;
    const put = (words, more, size) => {
      // Bold letters are wider.
      for (const part of wrap(words, more["font-weight"] ? 1.1 * size : size, w - 16)) {
        svg.append(text(8, y, part, { "font-size": size, ...more }));
        y += size * 1.35;
      }
    };
    put(model.title, { "font-weight": 600 }, 15);
    put(`${cg.timeOf(model)} · ${model.note}`, { fill: MUTED }, 12);
    if (model.conditions) put(model.conditions, { fill: MUTED }, 12);
    return y;
  };

  const sample = (series, x, y, dots, bars) => (bars
    ? cg.svg("rect", { x: x + 8, y: y - 5, width: 12, height: 10, fill: series.look.colour })
    : dots
    ? cg.svg("path", { d: `M${x + 14} ${y}${MARKS[series.look.mark]}`, ...dotPaint(series.look) })
    : line(x, y, x + 28, y, series.look.colour, { "stroke-width": 2, "stroke-dasharray": series.look.dash }));
  const dotPaint = (look) => ({
    fill: [1, 3].includes(look.mark) ? "none" : look.colour, stroke: look.colour, "stroke-width": [1, 3].includes(look.mark) ? 1.2 : 0.5,
  });

  // A row of samples and names for as many series as have a look; gives the y below it.
  const legend = (svg, model, w, y) => {
    const named = model.series.filter((s) => s.name && !s.look.faint);
    let x = 8;
    for (const series of named) {
      const lines = wrap(series.name, 12, w - 60);
      const need = 36 + Math.max(...lines.map((l) => width(l, 12))) + 16;
      if (x > 8 && (lines.length > 1 || x + need > w)) { x = 8; y += 18; }
      const key = cg.svg("g", { class: "key" }, sample(series, x, y - 4, model.kind === "dots", model.kind === "bars"));
      lines.forEach((words, n) => key.append(text(x + 34, y + 14 * n, words, { "font-size": 12 })));
      svg.append(key);
      if (lines.length > 1) { x = w; y += 14 * (lines.length - 1); } else x += need;
    }
    if (model.series.length > named.length && named.length) {
      y += 18;
      svg.append(line(8, y - 4, 36, y - 4, AXIS, { "stroke-width": 2 }),
        text(42, y, `${model.series.length - named.length} others: point at one to see which`, { "font-size": 12, fill: MUTED }));
    }
    return named.length ? y + 12 : y;
  };

  const frame = (svg, box, x, y, model) => {
    const { left, top, right, bottom } = box;
    for (const [value, words] of y.ticks) {
      const at = bottom - y.place(value) * (bottom - top);
      svg.append(line(left, at, right, at, GRID), text(left - 6, at + 4, words, { "text-anchor": "end", fill: MUTED, "font-size": 12 }));
    }
    let free = -Infinity;
    for (const [value, words] of x.ticks) {
      const at = left + x.place(value) * (right - left);
      svg.append(line(at, top, at, bottom, GRID));
      const half = width(words, 12) / 2;
      if (at - half < free + 6) continue;
      free = at + half;
      svg.append(text(Math.max(half + 2, Math.min(at, right + 8 - half)), bottom + 17, words, { "text-anchor": "middle", fill: MUTED, "font-size": 12 }));
    }
    svg.append(line(left, bottom, right, bottom, AXIS), line(left, top, left, bottom, AXIS));
    svg.append(text((left + right) / 2, bottom + 36, model.x.title, { "text-anchor": "middle", fill: MUTED, "font-size": 12 }));
  };

  // The path of a series, and its points on the picture for the readout. Bars begin at their point
  // and are `model.wide` wide.
  const trace = (series, model, px, py, bottom) => {
    const points = [];
    let d = "", before = null;
    for (const [vx, vy] of series.points) {
      const x = px(vx), y = py(vy);
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      points.push([x, y, vx, vy]);
      const at = `${x.toFixed(1)} ${y.toFixed(1)}`;
      if (model.kind === "dots") d += `M${at}${MARKS[series.look.mark]}`;
      else if (model.kind === "bars") d += `M${x.toFixed(1)} ${bottom.toFixed(1)}V${y.toFixed(1)}H${Math.max(x + 1, px(vx + model.wide) - 1).toFixed(1)}V${bottom.toFixed(1)}z`;
      else if (!before) d += `M${at}`;
      else if (model.kind === "stairs") d += `V${y.toFixed(1)}H${x.toFixed(1)}`;
      else d += `L${at}`;
      before = at;
    }
    return { d, points };
  };

  // `model`: title, note, clock, conditions, kind (stairs, line, dots, bars), x and y axes, series with name,
  // look and points. Gives the picture and the points that were drawn.
  cg.draw = (model, w) => {
    const svg = sheet(model);
    let top = head(svg, model, w) + 6;
    top = legend(svg, model, w, top + 4) + 12;
    svg.append(text(8, top - 2, model.y.title, { fill: MUTED, "font-size": 12 }));
    top += 10;
    const height = w < 480 ? 250 : 300, bottom = top + height;
    const marks = model.marks ?? [];
    const values = (n) => [...model.series.flatMap((s) => s.points.map((p) => p[n])), ...marks.map((m) => [m.x, m.y][n]).filter((v) => v != null)];
    // The last bar ends behind its point.
    const across = model.kind === "bars" ? values(0).flatMap((v) => [v, v + model.wide]) : values(0);
    const y = cg.settle(model.y, values(1), 6), x = cg.settle(model.x, across, Math.max(3, Math.round(w / 95)));
    const left = 14 + Math.max(...y.ticks.map((t) => width(t[1], 12)), 10), right = w - 14;
    const box = { left, top, right, bottom };
    frame(svg, box, x, y, model);
    const drawn = [];
    const lines = cg.svg("g", { class: "lines", fill: "none", "stroke-linejoin": "round" });
    // Those without a look of their own lie below the others.
    const order = [...model.series].sort((a, b) => Boolean(b.look.faint) - Boolean(a.look.faint));
    for (const series of order) {
      const { d, points } = trace(series, model, (v) => left + x.place(v) * (right - left), (v) => bottom - y.place(v) * (bottom - top), bottom);
      const paint = model.kind === "dots" ? dotPaint(series.look)
        : model.kind === "bars" ? { fill: series.look.colour }
        : { stroke: series.look.colour, "stroke-width": series.look.faint ? 0.8 : 1.8, "stroke-dasharray": series.look.dash };
      if (d) lines.append(cg.svg("path", { d, ...paint, "data-name": series.name }));
      // Where a profile ends is its worst case: a dot, because a single frame is a thin line.
      const last = points[points.length - 1];
      if (model.kind === "stairs" && last) lines.append(cg.svg("circle", { cx: last[0].toFixed(1), cy: last[1].toFixed(1), r: 2.6, fill: series.look.colour }));
      drawn.push({ name: series.name, points });
    }
    svg.append(lines);
    cg.putMarks(svg, marks, box, (v) => left + x.place(v) * (right - left), (v) => bottom - y.place(v) * (bottom - top));
    let below = bottom + 46;
    for (const part of cg.overlaps(model, drawn, box).flatMap((words) => wrap(words, 12, w - 16))) {
      svg.append(text(8, below + 10, part, { class: "overlap", fill: MUTED, "font-size": 12 }));
      below += 16;
    }
    size(svg, w, below);
    return { svg, drawn, box };
  };

  const size = (svg, w, h) => {
    for (const [name, value] of Object.entries({ width: w, height: Math.ceil(h), viewBox: `0 0 ${w} ${Math.ceil(h)}` })) svg.setAttribute(name, value);
  };

  // Rows of names with something drawn beside each: `row.paint(x, y, width, height)` gives it. A height can be that
  // for a width.
  cg.drawRows = (model, w) => {
    const svg = sheet(model);
    let y = head(svg, model, w) + 8;
    if (model.series) y = legend(svg, { ...model, kind: "bars" }, w, y + 8) + 4;
    // Names stand beside their rows, or above them where they are long.
    const longest = Math.max(...model.rows.map((r) => width(r.name, 12)), 20);
    const beside = longest <= 0.38 * w, left = beside ? 18 + longest : 8, room = w - left - 14;
    for (const row of model.rows) {
      const high = typeof row.height === "function" ? row.height(room) : row.height ?? 14;
      if (beside) svg.append(text(left - 8, y + high / 2 + 6, row.name, { "font-size": 12, "text-anchor": "end" }));
      else for (const words of wrap(row.name, 12, w - 16)) svg.append(text(8, (y += 15) - 2, words, { "font-size": 12 }));
      svg.append(...row.paint(left, y + 2, room, high));
      y += high + (beside ? 6 : 10);
    }
    if (model.below) {
      svg.append(line(left, y + 2, left + room, y + 2, AXIS));
      for (const [share, words, anchor] of model.below) {
        svg.append(text(left + share * room, y + 18, words, { "text-anchor": anchor, fill: MUTED, "font-size": 12 }));
      }
      y += 22;
    }
    size(svg, w, y + 8);
    return { svg, drawn: [] };
  };

  cg.colours = COLOURS;
  cg.dashes = DASHES;
  cg.paints = { ink: INK, muted: MUTED, grid: GRID, bar: COLOURS[0], loss: COLOURS[1], axis: AXIS, text, line, width, wrap, sheet, head, legend, size };
})();
