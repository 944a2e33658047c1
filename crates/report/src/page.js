// Everything here is an extra: without scripts the page shows the same charts and numbers.
(() => {
  const number = (v) => {
    const size = Math.abs(v);
    const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
    return v.toLocaleString("en", { maximumFractionDigits: digits, useGrouping: false });
  };

  const axis = (text) => {
    const [scale, low, high, ...unit] = text.split(" ");
    return { log: scale === "log", low: +low, high: +high, unit: unit.join(" ") };
  };
  const value = (a, share) => {
    const v = a.low + share * (a.high - a.low);
    return a.log ? 10 ** v : v;
  };

  // The drawn points of every series, in the picture's units, found by their colour.
  const pointsOf = (svg, [left, top, right, bottom]) => {
    const series = [];
    for (let i = 0; svg.dataset["c" + i]; i++) {
      const colour = svg.dataset["c" + i];
      const points = [];
      for (const line of svg.querySelectorAll(`polyline[stroke="${colour}"]`)) {
        for (const pair of line.getAttribute("points").trim().split(/\s+/)) {
          points.push(pair.split(",").map(Number));
        }
      }
      for (const dot of svg.querySelectorAll(`circle[fill="${colour}"]`)) {
        points.push([+dot.getAttribute("cx"), +dot.getAttribute("cy")]);
      }
      for (const bar of svg.querySelectorAll(`rect[fill="${colour}"]`)) {
        points.push([+bar.getAttribute("x"), +bar.getAttribute("y")]);
      }
      const inside = points.filter(([x, y]) => x >= left && x <= right && y >= top && y <= bottom);
      series.push({ name: svg.dataset["n" + i], points: inside });
    }
    return series;
  };

  for (const svg of document.querySelectorAll(".chart svg")) {
    const plot = svg.dataset.plot.split(" ").map(Number);
    const [left, top, right, bottom] = plot;
    const x = axis(svg.dataset.x), y = axis(svg.dataset.y);
    const out = svg.closest("figure").querySelector(".readout");
    let series = null, cursor = null;
    svg.addEventListener("pointermove", (event) => {
      series ??= pointsOf(svg, plot);
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const px = (event.clientX - box.left) * scale, py = (event.clientY - box.top) * scale;
      let best = null, least = Infinity;
      for (const s of series) {
        for (const [sx, sy] of s.points) {
          const d = Math.hypot(sx - px, sy - py);
          if (d < least) { least = d; best = { name: s.name, at: [sx, sy] }; }
        }
      }
      if (!best || px < left || px > right || py < top || py > bottom) return;
      const [sx, sy] = best.at;
      const vx = value(x, (sx - left) / (right - left)), vy = value(y, (bottom - sy) / (bottom - top));
      out.textContent = (best.name ? best.name + ": " : "") + `${number(vx)} ${x.unit}, ${number(vy)} ${y.unit}`;
      if (!cursor) {
        cursor = document.createElementNS("http://www.w3.org/2000/svg", "circle");
        cursor.setAttribute("class", "cursor");
        cursor.setAttribute("r", "60");
        svg.append(cursor);
      }
      cursor.setAttribute("cx", sx);
      cursor.setAttribute("cy", sy);
    });
    svg.addEventListener("pointerleave", () => {
      out.textContent = "";
      cursor?.remove();
      cursor = null;
    });
  }

  for (const save of document.querySelectorAll(".save")) {
    save.hidden = false;
    save.addEventListener("click", (event) => {
      const kind = event.target.dataset.save;
      if (!kind) return;
      const figure = save.closest("figure");
      const copy = figure.querySelector(".chart.wide svg").cloneNode(true);
      copy.querySelector(".cursor")?.remove();
      savePicture(copy, figure.id, kind);
    });
  }
})();
