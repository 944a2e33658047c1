//! A real browser for pages, if one is installed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Returns the Chromium of this machine; prints a message if there is none.
pub(crate) fn chromium() -> Option<PathBuf> {
    let found = find();
    if found.is_none() {
        println!("SKIPPED because no Chromium was found in PATH (set CHROMIUM to one)");
    }
    found
}

fn find() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("CHROMIUM") {
        return Some(PathBuf::from(given));
    }
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file())
}

/// A browser that is killed when the test ends early.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the browser on a page that is a file.
fn start(browser: &Path, dir: &Path, file: &Path, width: u32, more: &[&str]) -> Browser {
    let child = Command::new(browser)
        .args("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --enable-logging=stderr".split(' '))
        .args(more)
        .arg(format!("--window-size={},900", width.max(500) + 40))
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(dir.join("out")).unwrap())
        .stderr(std::fs::File::create(dir.join("log")).unwrap())
        .spawn()
        .unwrap();
    Browser(child)
}

fn read(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()
}

const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Opens a page, and returns the content of its `<p id="result">` after ten seconds of the
/// browser's time, and the browser's log.
#[allow(dead_code, reason = "each test uses one way")]
pub(crate) fn open(browser: &Path, file: &Path, width: u32) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--virtual-time-budget=10000", "--dump-dom"];
    let mut browser = start(browser, dir.path(), file, width, &more);
    let begin = Instant::now();
    while browser.0.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < TEST_TIMEOUT, "Chromium does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (dom, log) = (read(&dir.path().join("out")), read(&dir.path().join("log")));
    let seen = dom
        .split_once("id=\"result\">")
        .and_then(|(_, rest)| rest.split_once("</p>"));
    let Some((seen, _)) = seen else {
        panic!("the harness did not finish: {dom:.300}\n{log}");
    };
    (seen.to_owned(), log)
}

/// Opens a page, waits until it writes `RESULT …` to its console, and returns that and everything
/// else in the browser's log.
#[allow(dead_code, reason = "each test uses one way")]
pub(crate) fn listen(browser: &Path, file: &Path, width: u32) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--remote-debugging-port=0"];
    let mut browser = start(browser, dir.path(), file, width, &more);
    let begin = Instant::now();
    loop {
        let log = read(&dir.path().join("log"));
        let rest = log
            .split_once("\"RESULT ")
            .and_then(|(_, rest)| rest.split_once('"'));
        if let Some((seen, _)) = rest {
            let other = log.lines().filter(|line| !line.contains("\"RESULT "));
            return (seen.to_owned(), other.collect::<Vec<_>>().join("\n"));
        }
        let ended = browser.0.try_wait().unwrap();
        assert!(
            ended.is_none() && begin.elapsed() < TEST_TIMEOUT,
            "no result: {log}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the lines that the page, or the browser about the page, wrote to the console.
#[allow(dead_code, reason = "each test uses one way")]
pub(crate) fn console(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| line.contains(":CONSOLE"))
        .collect()
}

/// Decodes the output of `btoa`.
#[allow(dead_code, reason = "each test uses one way")]
pub(crate) fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        let digit = DIGITS.iter().position(|d| *d == c).unwrap();
        held = held << 6 | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
