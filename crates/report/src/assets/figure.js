// A chart on the page: the value at the pointer, and the chart as a file.
(() => {
  const readout = (figure, drawing, model) => {
    const { svg, drawn, box } = drawing, out = figure.querySelector(".readout");
    if (!drawn.length) return;
    const cursor = cg.svg("circle", { class: "cursor", r: 6 });
    svg.addEventListener("pointermove", (event) => {
      const area = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / area.width;
      const px = (event.clientX - area.left) * scale, py = (event.clientY - area.top) * scale;
      if (px < box.left - 8 || px > box.right + 8 || py < box.top - 8 || py > box.bottom + 8) return;
      let best = null, least = Infinity;
      for (const series of drawn) {
        for (const point of series.points) {
          const far = (point[0] - px) ** 2 + (point[1] - py) ** 2;
          if (far < least) { least = far; best = { series, point }; }
        }
      }
      if (!best) return;
      const [x, y, vx, vy] = best.point;
      out.textContent = `${best.series.name ? `${best.series.name}: ` : ""}${cg.short(vx)} ${model.x.unit}, ${cg.short(vy)} ${model.y.unit}`;
      cursor.setAttribute("cx", x);
      cursor.setAttribute("cy", y);
      svg.append(cursor);
    });
    svg.addEventListener("pointerleave", () => { out.textContent = ""; cursor.remove(); });
  };

  const figure = (model, width) => {
    const paint = model.draw ?? (model.rows ? cg.drawRows : cg.draw);
    const drawing = paint(model, width);
    const name = `${model.id}-${model.clock}`;
    const save = (kind) => cg.html("button", {
      type: "button", "data-save": kind, "aria-label": `Save ${model.title} as ${kind.toUpperCase()}`,
      onclick: () => {
        // On paper as wide as on a screen, whatever is shown now.
        savePicture(paint(model, 800).svg, name, kind);
      },
    }, `Save ${kind.toUpperCase()}`);
    const made = cg.html("figure", { id: name }, cg.html("div", { class: "chart" }, drawing.svg),
      cg.html("figcaption", {}, cg.html("span", { class: "save" }, save("svg"), " ", save("png")),
        cg.html("output", { class: "readout", "aria-hidden": "true" })));
    readout(made, drawing, model);
    return made;
  };

  // Charts side by side where `room` (pixels) has room for two columns.
  cg.grid = (models, room) => {
    const columns = room >= 900 ? 2 : 1;
    const width = Math.floor(((room || 340) - 24 * (columns - 1)) / columns);
    return cg.html("div", { class: "grid" }, models.map((model) => figure(model, width)));
  };

  // One chart over the whole of `room` (pixels).
  cg.alone = (model, room) => figure(model, Math.floor(room || 340));

  // Calls `redraw` when the window has got another width, and has it for a moment.
  cg.onWidth = (redraw) => {
    let width = innerWidth, later = 0;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      clearTimeout(later);
      later = setTimeout(redraw, 150);
    });
  };
})();
