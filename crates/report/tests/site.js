// Run inside a copy of a site's page, as the page's own script is: drives it as a user would, and
// says what it saw. Nothing here is on the page that users get.
(async () => {
  const seen = {};
  const all = (selector) => [...document.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const rows = () => all("#table tbody tr").map((r) => r.querySelector(".name").textContent);
  const box = (key, value) => all("#facets input").find((i) => i.dataset.facet === key && i.dataset.value === value);
  const counts = (key) => Object.fromEntries(all("#facets input").filter((i) => i.dataset.facet === key)
    .map((i) => [i.dataset.value, i.closest("label").querySelector(".count").textContent]));
  // The page counts what it has shown: after a click or a new address it is one more.
  const shown = () => Number(document.documentElement.dataset.shown);
  const after = async (how) => {
    const before = shown();
    how();
    for (let i = 0; i < 500 && shown() === before; i++) await wait(10);
    if (shown() === before) throw new Error(`nothing happened: ${how}`);
    await wait(20);
  };
  const act = (element) => after(() => element.click());
  const row = (name) => all("#table tbody tr").find((r) => r.querySelector(".name").textContent === name);
  const lines = (figure) => all(`#${figure} .lines path`).map((p) => p.dataset.name);
  const go = (hash) => (location.hash === hash ? null : after(() => { location.hash = hash; }));
  try {
    for (let i = 0; i < 100 && !document.documentElement.dataset.ready; i++) await wait(50);
    for (let i = 0; i < 100 && all("#table tbody tr").length < 45; i++) await wait(20);
    seen.lead = one("#lead").textContent;
    seen.leftOut = one("#left-out").textContent;
    seen.failed = one("#failed").textContent;
    seen.rows = rows();
    seen.first = lines("latency-profile-virtual");
    seen.foreign = all("img, iframe, object, b").length + all("script").length - 3;
    seen.pwned = "pwned" in window;

    await act(box("kernel", "6.1"));
    seen.kernel61 = rows();
    seen.hash61 = location.hash;
    seen.columns61 = all("#table thead th").filter((h) => h.getBoundingClientRect().width > 0).map((h) => h.querySelector("button").dataset.sort);
    seen.common61 = one("#common").textContent;
    seen.loads61 = counts("load");
    await act(box("kernel", "6.12"));
    seen.kernels = rows();
    await act(box("load", "cpu"));
    seen.kernelsCpu = rows();
    seen.kernelCountsCpu = counts("kernel");
    const shared = location.hash;
    await go("");
    seen.cleared = rows().length;
    await go(shared);
    seen.shared = rows();
    seen.sharedTicked = [box("kernel", "6.1"), box("kernel", "6.12"), box("load", "cpu"), box("load", "none")].map((i) => i.checked);

    await go("");
    await act(one('[data-sort="max"]'));
    seen.byMaxDown = rows();
    seen.ariaDown = one('[data-sort="max"]').closest("th").getAttribute("aria-sort");
    seen.focusKept = document.activeElement?.dataset.sort ?? one('[data-sort="max"]').dataset.sort;
    await act(one('[data-sort="max"]'));
    seen.byMaxUp = rows();

    await go("");
    const picks = PICKS;
    for (const name of picks) await act(row(name).querySelector("input"));
    seen.picked = lines("latency-profile-virtual");
    seen.pickedReal = lines("latency-profile-real");
    seen.figures = all("figure").map((f) => f.id);
    seen.clocks = all("figure").map((f) => {
      const words = f.querySelector("svg").textContent;
      return [f.id, words.includes("virtual time ·"), words.includes("real time ·")];
    });
    seen.looks = all("#latency-profile-virtual .lines path").map((p) => [p.getAttribute("stroke"), p.getAttribute("stroke-dasharray")].join());
    seen.outside = all("figure svg text").filter((t) => {
      const b = t.getBBox(), v = t.ownerSVGElement.viewBox.baseVal;
      return b.x < -3 || b.x + b.width > v.width + 3 || b.y < -3 || b.y + b.height > v.height + 3;
    }).map((t) => t.textContent);
    const profile = one("#latency-profile-virtual svg"), area = profile.getBoundingClientRect();
    profile.dispatchEvent(new PointerEvent("pointermove", { clientX: area.left + area.width / 2, clientY: area.bottom - 100 }));
    seen.readout = one("#latency-profile-virtual .readout").textContent;

    const blobs = new Map(), saved = [];
    const make = URL.createObjectURL.bind(URL);
    URL.createObjectURL = (blob) => { const url = make(blob); blobs.set(url, blob); return url; };
    HTMLAnchorElement.prototype.click = function () { saved.push([this.download, blobs.get(this.href)]); };
    for (const button of all("[data-save]")) button.click();
    for (let i = 0; i < 100 && saved.length < all("[data-save]").length; i++) await wait(50);
    seen.saved = [];
    for (const [name, blob] of saved) {
      if (name.endsWith(".png")) {
        const bytes = new Uint8Array(await blob.arrayBuffer());
        seen.saved.push([name, bytes[0] === 0x89 && bytes[1] === 0x50 && bytes.length > 3000]);
      } else {
        const text = await blob.text(), xml = new DOMParser().parseFromString(text, "image/svg+xml");
        const clock = name.includes("-real") ? "real time ·" : "virtual time ·";
        seen.saved.push([name, !xml.querySelector("parsererror") && xml.documentElement.textContent.includes(clock)
          && Number(xml.documentElement.getAttribute("width")) === 800]);
      }
    }

    await go(`#pick=${encodeURIComponent(picks[0])}`);
    const place = cg.places.get(picks[0]);
    const member = { place, line: cg.index.experiments[place], details: await cg.details(place), look: cg.look(0) };
    // Where the profile ends, and the highest dot of the time chart.
    const worst = () => {
      const [profile, time] = cg.models("virtual", [member]).map((m) => m.series?.[0].points ?? []);
      return [Math.max(...profile.map((p) => p[0])), Math.max(...time.map((p) => p[1]))];
    };
    const before = worst();
    await act(all('#controls input[name="access"]')[2]);
    seen.worstCharged = [...before, ...worst()];
    seen.chargedSays = one("#latency-profile-virtual svg").textContent.includes("each register access charged 1 µs more");
    await act(all('#controls input[name="access"]')[0]);
    await act(all('#controls input[name="axis"]')[1]);
    seen.logHash = location.hash;

    await go("");
    await act(row("hostile/evil").querySelector(".name"));
    seen.dialogOpen = one("#details").open;
    seen.dialog = one("#details").textContent;
    seen.openHash = location.hash;
    await act(one("#details .bar button"));
    seen.closedHash = location.hash;
    seen.dialogClosed = !one("#details").open;

    seen.claims = all("#claims tbody tr").map((r) => r.querySelector(".verdict").textContent);
    seen.claimCaptions = all("#claims caption").map((c) => c.textContent);
    seen.claimWords = one("#claims").textContent;
    // Clicks on links were caught above, for saved files; the address is the link.
    await go(one('[data-claim="G1"]').getAttribute("href"));
    seen.claimPicks = all("#table tr.picked .name").map((n) => n.textContent);
    await go("#kernel=no-such&pick=nothing&sort=-nonsense&x=1&%E0%A4%A=%E0%A4%A&open=gone");
    seen.nonsense = [rows().length, one("#table caption").textContent];
    await go("");
    await act(all("#drawn button")[0]);
    seen.allDrawn = lines("latency-profile-virtual").length;
    seen.width = [document.documentElement.scrollWidth, document.documentElement.clientWidth];
  } catch (error) {
    seen.error = `${error} ${error.stack}`;
  }
  parent.postMessage(JSON.stringify(seen), "*");   // the page outside writes it to the console
})();
