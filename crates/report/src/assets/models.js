// Charts that the page of one run and the site of many share, before they are drawn.
(() => {
  // A curve's points in units of `per` ns; `y` makes of a count what is drawn.
  cg.steps = ({ t, m }, per, y) => cg.absolute(t).map((v, i) => [v / per, y(m[i])]);

  // For every latency, how many frames had it or more. `curves`: name, look, curve.
  cg.profile = (curves, { max, log, quantity = "latency", unit = cg.unit(max), ...about }) => {
    const [name, per] = unit;
    const series = curves.map(({ curve, ...of }) => ({ ...of, points: cg.steps(curve, per, (m) => m) }));
    const most = Math.max(1, ...series.map((s) => s.points[0]?.[1] ?? 0));
    return {
      id: "latency-profile", title: "Latency profile", kind: "stairs", ...about,
      x: { title: `${quantity} (${name})`, unit: name, log },
      y: { title: `frames with this ${quantity} or more`, unit: "frames", log: true, low: 0.7, high: most * 1.3 }, series,
    };
  };

  // Latency over the end of the incoming frame. `clouds`: name, look, cloud.
  cg.overTime = (clouds, { max, log, when, note, after = "", ...about }) => {
    const [name, per] = cg.unit(max);
    const thinned = clouds.some(({ cloud }) => cloud.y.length < cloud.of);
    const series = clouds.map(({ cloud, ...of }) => ({ ...of, points: cg.absolute(cloud.x).map((t, i) => [t / 1e9, cloud.y[i] / per]) }));
    return {
      id: "latency-over-time", title: "Latency over time", kind: "dots", ...about,
      note: `${note}${thinned ? " · a sample of the frames, and the least and greatest of each slice of time" : ""}${after}`,
      x: { title: when, unit: "s" }, y: { title: `latency (${name})`, unit: name, log }, series,
    };
  };
})();
