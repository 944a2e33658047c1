//! The page of worst cases: the data that it passes to its scripts, and its display in a real
//! browser, on a screen and on a phone. Skipped, with the reason, if there is no Chromium.

use crate::bound_sample as sample;
use crate::browser;

use cangate_report::bound::{BoundData, FILE, page, write};
use serde_json::{Value, json};
use std::path::Path;

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{1b}[31m]]>\u{2028}BOUND STYLE SCRIPT";

/// Returns the data that the page passes to its scripts.
fn shown(data: &BoundData) -> Value {
    let page = page(data);
    let (_, rest) = page.rsplit_once("\ncangateBound(").unwrap();
    let (json, _) = rest.split_once(");\n</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn every_figure_is_in_the_page_and_adds_up() {
    let data = sample::data(2, 12);
    let shown = shown(&data);
    let number = |value: &Value| value.as_u64().unwrap();
    let sum = |parts: &Value| -> u64 { parts.as_array().unwrap().iter().map(number).sum() };
    let (mut bounded, mut measured) = (0, 0);
    for (bus, of) in data.buses.iter().zip(shown["buses"].as_array().unwrap()) {
        for (message, m) in bus.messages.iter().zip(of["messages"].as_array().unwrap()) {
            assert_eq!(m["id"], message.id.as_str());
            let Ok(parts) = &message.bound else {
                assert_eq!((&m["bound"], &m["can_miss"]), (&Value::Null, &true.into()));
                assert!(m["why"].as_str().unwrap().contains("104.2 %"));
                continue;
            };
            bounded += 1;
            assert_eq!(m["bound"], parts.bound());
            assert_eq!(sum(&m["parts"]) - number(&m["since"]), parts.bound());
            assert_eq!(sum(&m["drawn"]), parts.bound());
            assert_eq!(m["can_miss"], parts.bound() > message.deadline);
            let Some(seen) = &message.seen else { continue };
            measured += 1;
            let worst = *seen.latencies.values().last().unwrap();
            let frames = seen.latencies.count();
            assert_eq!(
                (&m["seen"]["max"], &m["seen"]["frames"]),
                (&worst.into(), &frames.into())
            );
            let ratio = worst as f64 / seen.limit as f64;
            assert!((m["seen"]["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9);
            assert_eq!(m["seen"]["curve"]["m"][0], frames);
        }
    }
    assert_eq!((bounded, measured), (23, 8));
}

#[test]
fn same_data_same_bytes_and_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let data = sample::data(1, 5);
    let written = write(&dir.path().join("new"), &data).unwrap();
    assert_eq!(written, dir.path().join("new").join(FILE));
    let made = page(&data);
    assert_eq!(std::fs::read_to_string(&written).unwrap(), made);
    assert_ne!(made, page(&sample::data(1, 6)));
    for outside in ["src=", "href=\"http", "@import", "url(", "fetch(", "//cdn"] {
        assert!(!made.contains(outside), "{outside}");
    }
    let error = write(&written, &data).unwrap_err().to_string();
    assert!(
        error.contains(FILE) && error.contains("is it a writable folder"),
        "{error}"
    );
}

#[test]
fn hostile_names_stay_text() {
    let clean = page(&sample::data(1, 12));
    let hostile = page(&nasty());
    for tag in ["<script", "</script", "<img"] {
        assert_eq!(
            hostile.matches(tag).count(),
            clean.matches(tag).count(),
            "{tag}"
        );
    }
    assert!(!hostile.contains('\u{1b}') && !hostile.contains('\u{2028}'));
    assert_eq!(shown(&nasty())["buses"][0]["messages"][0]["name"], HOSTILE);
}

/// Returns data with names that are far too long, or hostile, and with figures that are far too
/// great.
fn nasty() -> BoundData {
    let mut data = sample::data(1, 12);
    data.title = HOSTILE.into();
    data.notes.push(HOSTILE.into());
    data.made.push((HOSTILE.into(), HOSTILE.into()));
    let bus = &mut data.buses[0];
    bus.name = HOSTILE.into();
    bus.bit_rate = HOSTILE.into();
    bus.errors = Some(HOSTILE.into());
    bus.nodes[1].name = HOSTILE.into();
    bus.messages[0].name = HOSTILE.into();
    bus.messages[0].via = Some(HOSTILE.into());
    bus.messages[1].name = "a-name-without-any-place-to-break-it-that-is-far-too-long-for-a-telephone-and-for-a-screen".repeat(2);
    bus.messages[2].bound = Err(HOSTILE.into());
    bus.messages[3].deadline = 3_600_000_000_001;
    data
}

/// Reports the content of the page, the effects of keys and the pointer, and elements that are cut
/// off or too wide.
const SCRIPT: &str = r##"(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (let i = 0; i < 500 && !document.documentElement.dataset.ready; i++) await wait(20);
  const all = (root, what) => [...root.querySelectorAll(what)], root = document.documentElement;
  const names = () => all(document, ".bus").map((bus) => all(bus, ".row").map((row) => row.querySelector("text").textContent));
  const cut = () => all(document, "figure svg").flatMap((svg) => all(svg, "text").filter((t) => {
    const b = t.getBBox(), view = svg.viewBox.baseVal;
    return b.x < -3 || b.x + b.width > view.width + 3 || b.y < -3 || b.y + b.height > view.height + 3;
  })).map((t) => t.textContent);
  // Texts of one picture that lie on one another.
  const overlaps = () => all(document, ".bus figure svg").flatMap((svg) => {
    const boxes = all(svg, "text").map((t) => [t.getBBox(), t.textContent]);
    return boxes.flatMap(([a, one], n) => boxes.slice(n + 1).filter(([b]) =>
      a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width && a.y + 5 < b.y + b.height && b.y + 5 < a.y + a.height).map(([, other]) => `${one} / ${other}`));
  });
  const wide = () => all(document, "main *").filter((e) => !e.closest(".scroll table") && e.getBoundingClientRect().right > root.clientWidth + 1).map((e) => e.outerHTML.slice(0, 80));
  const said = { names: names(), cut: cut(), overlaps: overlaps(), wide: wide() };
  said.sentence = document.querySelector("#sentence").textContent;
  said.tiles = all(document, ".tile").map((t) => [t.querySelector(".name").textContent, t.querySelector("strong").textContent, t.classList.contains("alarm")]);
  const first = document.querySelector(".bus"), rows = all(first, ".row");
  said.parts = rows.map((row) => all(row, "[data-part]").map((r) => [r.dataset.part, +r.getAttribute("x"), +r.getAttribute("width")]));
  said.marks = rows.map((row) => ["deadline", "later", "over", "unbounded"].filter((name) => row.querySelector(`.${name}`)));
  said.due = rows.map((row) => row.querySelector(".deadline")?.getAttribute("x1"));
  said.bold = all(document, ".row text[font-weight]").map((t) => t.textContent);
  // Where the keys lead, and what is shown there.
  rows[0].focus();
  const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  if (rows[1]) press("ArrowDown");
  said.focused = document.activeElement.getAttribute("aria-label");
  const tip = document.querySelector(".tip");
  said.tip = tip?.textContent;
  said.tipWide = tip ? tip.getBoundingClientRect().right <= root.clientWidth + 1 && tip.getBoundingClientRect().left >= 0 : null;
  press("Escape");
  said.tips = [all(document, ".tip").length];
  rows[0].dispatchEvent(new PointerEvent("pointerenter"));
  said.tips.push(all(document, ".tip").length);
  rows[0].dispatchEvent(new PointerEvent("pointerleave"));
  said.tips.push(all(document, ".tip").length);
  const order = document.querySelector("#order");
  for (const by of ["bound", "priority"]) {
    order.value = by;
    order.dispatchEvent(new Event("change"));
    said[by] = names()[0];
  }
  const folded = first.querySelector("details");
  folded.open = true;
  for (let i = 0; i < 100 && !folded.querySelector("tbody tr"); i++) await wait(20);
  said.table = all(folded, "tbody tr").map((row) => [row.querySelector("th").textContent, ...all(row, "td").map((cell) => cell.textContent)]);
  said.heads = all(folded, "thead th").map((cell) => cell.textContent);
  said.profiles = all(document, "#measured figure").map((f) => ({
    words: all(f, "svg text").map((t) => t.textContent), lines: f.querySelectorAll(".lines path").length, at: f.querySelectorAll("[data-form=at]").length,
    bound: +f.querySelector("[data-form=at]").getAttribute("x1"), worst: +f.querySelector("circle").getAttribute("cx"),
  }));
  said.measured = all(document, "#measured tbody tr").map((row) => [row.querySelector("th").textContent, ...all(row, "td").map((cell) => cell.textContent)]);
  said.above = all(document, "#measured li").map((li) => li.textContent);
  said.buttons = all(document, "button.more").map((b) => b.textContent);
  for (const button of all(document, "button.more")) button.click();
  said.after = [document.querySelectorAll(".row").length, document.querySelectorAll("#measured figure").length];
  said.later = { cut: cut(), overlaps: overlaps(), wide: wide() };
  said.foreign = document.querySelectorAll("img, b, iframe, object").length;
  said.width = [root.scrollWidth, root.clientWidth, innerWidth];
  console.log("RESULT " + btoa(unescape(encodeURIComponent(JSON.stringify(said)))));
})();"##;

/// Returns the script's report about the page in a window of this width, opened from the disk.
fn look(browser: &Path, data: &BoundData, width: u32) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let text = page(data).replace("</body>", &format!("<script>{SCRIPT}</script></body>"));
    let inner = dir.path().join("inner.html");
    std::fs::write(&inner, text).unwrap();
    let outer = format!(
        "<!DOCTYPE html><body style=\"margin:0\"><iframe src=\"inner.html\" style=\"width:{width}px;height:900px;border:0\"></iframe></body>"
    );
    let file = dir.path().join("outer.html");
    std::fs::write(&file, outer).unwrap();
    let (seen, log) = browser::listen(browser, &file, width);
    assert_eq!(browser::console(&log), Vec::<&str>::new());
    let seen: Value = serde_json::from_slice(&browser::base64(&seen)).unwrap();
    assert_eq!(seen["width"][2], width, "{seen}");
    seen
}

fn strings(value: &Value) -> Vec<String> {
    let all = value.as_array().unwrap().iter();
    all.map(|v| v.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_worst_comes_first_and_each_bar_is_its_bound() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let data = sample::data(2, 12);
    let seen = look(&browser, &data, 1280);
    assert_eq!(seen["sentence"], shown(&data)["lead"]["sentence"]);
    assert_eq!(
        seen["tiles"][0],
        json!(["keep their deadline", "22 of 24", true])
    );
    let names = strings(&seen["names"][0]);
    assert_eq!(names[..2], ["087", "084 time"], "no bound, then too late");
    assert_eq!(strings(&seen["bold"])[0], "087", "the worst of all");
    assert_eq!(seen["marks"][0], json!(["unbounded"]));
    assert_eq!(seen["marks"][1], json!(["deadline", "over"]));
    assert_eq!(seen["marks"][2], json!(["later"]));
    let last = strings(&seen["priority"]);
    assert_eq!(last[0], "080 engine speed");
    let longest = strings(&seen["bound"]);
    assert_eq!(longest[..2], ["087", "089 time"]);
    // Parts follow one another, and their lengths are proportional to the times that they
    // represent.
    let by_name = |name: &str| {
        let messages = &data.buses[0].messages;
        let label = |m: &cangate_report::bound::MessageData| format!("{} {}", m.id, m.name);
        messages
            .iter()
            .find(|m| label(m).trim_end() == name)
            .unwrap()
    };
    let mut scale = None;
    for (name, parts) in names.iter().zip(seen["parts"].as_array().unwrap()) {
        let message = by_name(name);
        let Ok(of) = &message.bound else { continue };
        let parts = parts.as_array().unwrap();
        let wanted = of.after_the_event().into_iter().filter(|ns| *ns > 0);
        let wanted: Vec<u64> = wanted.collect();
        assert_eq!(parts.len(), wanted.len(), "{name}");
        let at = |n: usize, k: usize| parts[n][k].as_f64().unwrap();
        for (n, ns) in wanted.iter().enumerate() {
            let per = at(n, 2) / *ns as f64;
            let scale = *scale.get_or_insert(per);
            assert!((at(n, 2) - scale * *ns as f64).abs() < 0.3, "{name} {n}");
            assert!(n == 0 || (at(n - 1, 1) + at(n - 1, 2) - at(n, 1)).abs() < 0.3);
        }
    }
    // The deadline is at its position: 1000 µs from the axis.
    let begin = seen["parts"][1][0][1].as_f64().unwrap();
    let due: f64 = seen["due"][1].as_str().unwrap().parse().unwrap();
    assert!((due - begin - scale.unwrap() * 1e6).abs() < 0.5, "{due}");
}

#[test]
fn keys_and_pointer_show_what_a_bar_consists_of_and_a_table_has_it_all() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let data = sample::data(1, 12);
    let seen = look(&browser, &data, 1280);
    let focused = seen["focused"].as_str().unwrap();
    let words = "084 time: bound 1\u{202f}384 µs of 1\u{202f}000 µs, MISSED by 384: lower 270, higher 920, frame 194";
    assert_eq!(focused, words);
    let tip = seen["tip"].as_str().unwrap();
    for words in ["084 time", "frames of higher priority920", "too long by384"] {
        assert!(tip.contains(words), "{words}: {tip}");
    }
    assert_eq!(seen["tips"], json!([0, 1, 0]));
    let heads = strings(&seen["heads"]);
    let column = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let table = seen["table"].as_array().unwrap();
    assert_eq!(table.len(), 12);
    let (bound, slack) = (&table[4][column("bound")], &table[4][column("slack")]);
    assert_eq!((bound, slack), (&"1\u{202f}384".into(), &"−384".into()));
    let none = table[7][0].as_str().unwrap();
    assert!(
        none.contains("No bound: with all higher-priority frames"),
        "{none}"
    );
    assert_eq!(table[7][column("bound")], "none");
    assert_eq!(table[2][column("before the event")], "−100");
}

#[test]
fn what_was_measured_stands_beside_its_bound() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let mut data = sample::data(2, 12);
    let message = &mut data.buses[1].messages[0];
    let seen = message.seen.as_mut().unwrap();
    // As if its bound were too low.
    seen.limit = seen.worst.unwrap().latency as u64 * 9 / 10;
    seen.above = vec![seen.worst.unwrap()];
    let seen = look(&browser, &data, 1280);
    let measured = seen["measured"].as_array().unwrap();
    assert_eq!(measured.len(), 8);
    let ratio = |row: &Value| -> f64 {
        let text = row[7].as_str().unwrap().trim_end_matches(" %");
        assert!(!text.starts_with(['<', '>']), "{row}");
        text.parse().unwrap()
    };
    assert!(
        measured
            .windows(2)
            .all(|two| ratio(&two[0]) >= ratio(&two[1]))
    );
    assert_eq!(
        (&measured[0][1], &measured[0][8]),
        (&"chassis".into(), &"1".into())
    );
    let above = strings(&seen["above"]);
    assert!(
        above.len() == 1 && above[0].starts_with("Frame 12, 080"),
        "{above:?}"
    );
    let profiles = seen["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 6);
    for (n, profile) in profiles.iter().enumerate() {
        assert_eq!((&profile["lines"], &profile["at"]), (&1.into(), &1.into()));
        let words = strings(&profile["words"]).join("|");
        assert!(
            words.contains("bound ") && words.contains("worst "),
            "{words}"
        );
        assert!(words.contains("bus time (simulated"), "{words}");
        let place = |key: &str| profile[key].as_f64().unwrap();
        assert_eq!(place("worst") <= place("bound"), n > 0, "{profile}");
    }
    assert_eq!(strings(&seen["buttons"]), ["Show all 8 profiles"]);
    assert_eq!(seen["after"][1], 8);
    let tiles = seen["tiles"].as_array().unwrap();
    assert!(
        tiles
            .iter()
            .any(|t| t[0] == "measured at most" && t[2] == true)
    );
}

#[test]
fn nothing_is_cut_or_squeezed_on_a_telephone_and_on_a_screen() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let mut random = sample::data(1, 3);
    random.margin = None;
    random.measured = None;
    for message in &mut random.buses[0].messages {
        message.late = Some(1.5e-9);
        message.seen = None;
    }
    let mut empty = sample::data(1, 0);
    empty.measured = None;
    for (data, rows) in [(sample::data(2, 60), 120), (nasty(), 12), (random, 3)] {
        for width in [360, 500, 1280] {
            let seen = look(&browser, &data, width);
            assert_eq!(
                seen["width"][0], seen["width"][1],
                "scrolls sideways at {width}"
            );
            for when in [&seen, &seen["later"]] {
                for what in ["cut", "overlaps", "wide"] {
                    assert_eq!(when[what], json!([]), "{what} at {width}");
                }
            }
            assert_eq!(seen["tipWide"], true, "{width}");
            assert_eq!(
                (&seen["foreign"], &seen["after"][0]),
                (&0.into(), &rows.into())
            );
        }
    }
    // A page is also made without any message.
    let page = page(&empty);
    assert!(page.contains("The message set is empty"));
}
