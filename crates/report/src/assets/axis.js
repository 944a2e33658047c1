// Where an axis begins and ends, and where its ticks are.
(() => {
  const nice = (step) => {
    const power = 10 ** Math.floor(Math.log10(Math.max(step, 1e-12)));
    return [1, 2, 5, 10].find((f) => step / power <= f + 1e-9) * power;
  };

  const label = (value, step) => {
    const digits = step >= 1 ? 0 : Math.min(9, Math.ceil(-Math.log10(step) - 1e-9));
    const text = value.toFixed(digits);
    if (!/[1-9]/.test(text)) return "0";
    const whole = digits === 0 && Math.abs(value) >= 10000 && Math.abs(value) < 1e15;
    return (whole ? cg.count(Math.abs(value).toFixed(0)) : text.replace("-", "")).replace(/^/, value < 0 ? "−" : "");
  };

  const linear = (low, high, about, fixed) => {
    if (!(high > low)) high = low + Math.max(Math.abs(low), 1);
    const step = nice((high - low) / about);
    if (!fixed) {
      const span = high - low;
      low = low >= 0 && low < 0.5 * high ? 0 : Math.floor(low / step) * step;
      high += 0.03 * span;
    }
    const ticks = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step && ticks.length < 100; n++) {
      ticks.push([n * step, label(n * step, step)]);
    }
    return { low, high, ticks, place: (v) => (v - low) / (high - low), value: (s) => low + s * (high - low) };
  };

  const log = (low, high, about, fixed) => {
    let a = Math.log10(Math.max(low, 1e-6)), b = Math.log10(Math.max(high, 1e-6));
    if (b < a + 0.3) b = a + 0.3;
    if (!fixed) { const air = 0.02 * (b - a); a -= air; b += air; }
    const factors = about / (b - a) >= 2.2 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil((b - a) / about));
    // Within a decade powers of ten say too little.
    const ticks = b - a < 1 ? linear(10 ** a, 10 ** b, about, true).ticks.filter(([v]) => v > 0) : [];
    if (ticks.length) factors.length = 0;
    for (let d = Math.floor(a); d <= Math.ceil(b); d++) {
      if (d % every) continue;
      for (const f of factors) {
        const at = Math.log10(f) + d;
        if (at >= a - 1e-9 && at <= b + 1e-9) ticks.push([f * 10 ** d, label(f * 10 ** d, Math.min(1, 10 ** d))]);
      }
    }
    return {
      low: 10 ** a, high: 10 ** b, ticks,
      place: (v) => (v > 0 ? (Math.log10(v) - a) / (b - a) : NaN),
      value: (s) => 10 ** (a + s * (b - a)),
    };
  };

  // `axis` has log, and low and high where they are fixed; else they come from the values.
  cg.settle = (axis, values, about) => {
    let { low, high } = axis;
    const fixed = low !== undefined;
    if (!fixed) {
      low = Infinity; high = -Infinity;
      for (const v of values) {
        if (!Number.isFinite(v) || (axis.log && v <= 0)) continue;
        if (v < low) low = v;
        if (v > high) high = v;
      }
      if (low > high) [low, high] = [axis.log ? 1 : 0, axis.log ? 10 : 1];
    }
    return (axis.log ? log : linear)(low, high, about, fixed);
  };
})();
