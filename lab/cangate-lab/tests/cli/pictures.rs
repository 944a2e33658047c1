//! The documents' pictures of the output of the command line and its pages.

use crate::pictures::{keep, plain, terminal};
use crate::{browser, cangate, root, stdout};
use std::path::Path;

/// Returns a script that makes the widths of letters independent of fonts, so that a chart is the
/// same on every machine; then presses *Save SVG* of a figure, and logs the saved text.
fn script(figure: &str) -> String {
    const SCRIPT: &str = r##"
CanvasRenderingContext2D.prototype.measureText = function (text) { return { width: 0.56 * parseFloat(this.font) * text.length }; };
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (let i = 0; i < 500 && !document.documentElement.dataset.ready; i++) await wait(20);
  const blobs = [];
  const make = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => { blobs.push(blob); return make(blob); };
  HTMLAnchorElement.prototype.click = () => {};
  document.querySelector("#FIGURE [data-save=svg]").click();
  const text = await blobs[0].text();
  console.log("RESULT " + btoa(unescape(encodeURIComponent(text))));
})();"##;
    SCRIPT.replace("FIGURE", figure)
}

/// The SVG that the page's button saves.
fn saved(chromium: &Path, page: &Path) -> String {
    let (seen, log) = browser::listen(chromium, page, 1280);
    assert_eq!(browser::console(&log), Vec::<&str>::new());
    String::from_utf8(browser::base64(&seen)).unwrap() + "\n"
}

#[test]
fn picture_of_a_latency_profile() {
    let Some(chromium) = browser::chromium() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut command = cangate();
    command
        .args(["demo", "--seconds", "5", "--out"])
        .arg(folder.path());
    stdout(&mut command, 0);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    let script = format!(
        "<script>{}</script>\n<script>",
        script("latency-profile-virtual")
    );
    let file = folder.path().join("picture.html");
    std::fs::write(&file, page.replacen("<script>", &script, 1)).unwrap();
    keep("latency-profile.svg", &saved(&chromium, &file));
}

/// The results of a quick run of the lab for G4, stored in `docs/pictures/g4.json`.
#[test]
fn picture_of_a_claim() {
    let Some(chromium) = browser::chromium() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let found = root().join("docs/pictures/g4.json");
    std::fs::copy(found, folder.path().join("claims.json")).unwrap();
    stdout(cangate().arg("report").arg(folder.path()), 0);
    let site = folder.path().join("site");
    let page = std::fs::read_to_string(site.join("index.html")).unwrap();
    let begin = "<script defer src=\"site.js\"></script>";
    let tested = page.replace(
        begin,
        &format!("<script defer src=\"picture.js\"></script>{begin}"),
    );
    assert_ne!(page, tested);
    std::fs::write(site.join("picture.js"), script("figure-g4-virtual")).unwrap();
    let file = site.join("picture.html");
    std::fs::write(&file, tested).unwrap();
    keep("claim-g4.svg", &saved(&chromium, &file));
}

/// Excludes values measured in real time, which differ each time.
#[test]
fn picture_of_the_demo() {
    let out = stdout(cangate().args(["demo", "--seconds", "5"]), 0);
    let (repeats, _) = out.split_once("\n\nLatency in µs of bus time").unwrap();
    let columns = repeats.lines().map(|l| l.chars().count()).max().unwrap();
    assert!(columns <= 80, "{repeats}");
    let lines = format!("$ cangate demo --seconds 5\n{repeats}");
    keep(
        "demo.svg",
        &terminal("cangate demo in a terminal", 80, &plain(&lines)),
    );
}
