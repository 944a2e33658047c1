//! The site in a real browser, opened as a file as users open it: filters, selection, sorting,
//! saving, details, claims; hostile names; a phone's width. Skipped, with the reason, if there is
//! no Chromium.

use crate::browser;
use crate::experiments;
use crate::sample;

use crate::browser::chromium;
use cangate_report::site;
use probe::RunResults;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const HOSTILE: &str = "</script><script>pwned=1</script><img src=x onerror=pwned=1>\"'`&\u{1b}\u{2028}Ünïcödé 日本 ]]>";
/// Experiments of the sample: kernels, loads and traffic vary; the last one is in real time.
const NUMBERS: [u64; 43] = {
    let mut numbers = [0; 43];
    let mut n = 0;
    while n < 43 {
        numbers[n] = n as u64;
        n += 1;
    }
    numbers[42] = 96;
    numbers
};
const FRAMES: u64 = 400;

/// A folder of experiments, and its site in `site`.
struct Sample {
    dir: tempfile::TempDir,
    results: BTreeMap<String, RunResults>,
}

impl Sample {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut results = BTreeMap::new();
        for n in NUMBERS {
            results.insert(experiments::name(n), experiments::experiment(n, FRAMES));
        }
        results.insert("demo/results".into(), sample::data(300).results);
        let mut evil = experiments::experiment(1, 50);
        let d = &mut evil.description;
        for text in [
            &mut d.title,
            &mut d.command,
            &mut d.stamp,
            &mut d.blind_spots,
            &mut d.config,
        ] {
            *text = HOSTILE.into();
        }
        for (_, value) in &mut d.more {
            if value != "virtual" {
                *value = HOSTILE.into();
            }
        }
        d.more.push((HOSTILE.into(), HOSTILE.into()));
        d.more.push(("__proto__".into(), "polluted".into()));
        results.insert("hostile/evil".into(), evil);
        for (name, results) in &results {
            let file = dir.path().join(format!("{name}.parquet"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            probe::results::write(&file, results).unwrap();
        }
        std::fs::write(dir.path().join("foreign.parquet"), "PAR1 or so").unwrap();
        let claim = |id: &str, verdict: &str, experiments: &[&str]| {
            serde_json::json!({"id": id, "claim": HOSTILE, "paper": "35", "measured": "36",
                "verdict": verdict, "why": "because", "experiments": experiments})
        };
        let (a, b, c) = (
            experiments::name(0),
            format!("{}.parquet", experiments::name(7)),
            experiments::name(3),
        );
        let kind = |kind: &str, mut claim: serde_json::Value| {
            claim["kind"] = kind.into();
            claim
        };
        let claims = serde_json::json!([
            claim("G1", "reproduced", &[&a, &b]),
            kind("other-way", claim("G1/bpf", "differs", &[&a, &c])),
            claim("G2", "differs", &["gone"]),
            kind("paper", claim("G3", "not testable here", &[])),
            kind("bound", claim("O1", "reproduced", &[])),
            kind("bound", claim("O2", "differs", &[])),
        ]);
        std::fs::write(dir.path().join("claims.json"), claims.to_string()).unwrap();
        let note = serde_json::json!({"experiment": {}, "why": HOSTILE, "console": format!("Kernel panic {HOSTILE}")});
        std::fs::write(dir.path().join("x.failed.json"), note.to_string()).unwrap();
        // An experiment that succeeded after it had failed.
        std::fs::write(
            dir.path().join(format!("{a}.failed.json")),
            note.to_string(),
        )
        .unwrap();
        Self { dir, results }
    }

    fn write(&self) -> site::WrittenSite {
        site::write(self.dir.path(), &self.dir.path().join("site")).unwrap()
    }

    /// Returns the names of the experiments with these settings.
    fn with(&self, settings: &[(&str, &[&str])]) -> Vec<&str> {
        let has = |r: &RunResults| {
            settings.iter().all(|(key, values)| {
                let found = r.description.more.iter().find(|m| m.0 == *key);
                found.is_some_and(|m| values.contains(&m.1.as_str()))
            })
        };
        let names = self.results.iter().filter(|(_, r)| has(r));
        names.map(|(name, _)| name.as_str()).collect()
    }
}

/// Opens the site in a frame of this width, with `site.js` in addition to the site's own scripts.
fn drive(browser: &Path, site: &Path, picks: &[&str], width: u32) -> (Value, String) {
    let page = std::fs::read_to_string(site.join("index.html")).unwrap();
    let index = "<script defer src=\"data/index.js\"></script>";
    let tested = page.replace(
        index,
        &format!("{index}<script defer src=\"test.js\"></script>"),
    );
    assert_ne!(page, tested);
    std::fs::write(site.join("test.html"), tested).unwrap();
    let script =
        include_str!("../site.js").replace("PICKS", &serde_json::to_string(picks).unwrap());
    std::fs::write(site.join("test.js"), script).unwrap();
    let harness = format!(
        "<!DOCTYPE html><body><script>addEventListener(\"message\", (event) => \
         console.log(\"RESULT \" + btoa(unescape(encodeURIComponent(event.data)))));</script>\
         <iframe src=\"test.html\" style=\"width:{width}px;height:900px;border:0\"></iframe></body>"
    );
    let file = site.join("harness.html");
    std::fs::write(&file, harness).unwrap();
    let (seen, log) = browser::listen(browser, &file, width);
    let seen: Value = serde_json::from_slice(&browser::base64(&seen)).unwrap();
    assert_eq!(seen["error"], Value::Null, "{log}");
    (seen, log)
}

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap())
        .collect()
}

/// Compares in any order.
fn same(value: &Value, names: &[&str]) {
    let (mut a, mut b) = (strings(value), names.to_vec());
    a.sort_unstable();
    b.sort_unstable();
    assert_eq!(a, b);
    assert!(
        !a.is_empty(),
        "the sample has none: this test could not fail"
    );
}

#[test]
fn a_reader_finds_overlays_sorts_saves_and_shares() {
    reads(1280);
}

#[test]
fn a_reader_does_so_on_a_telephone() {
    reads(390);
}

fn reads(width: u32) {
    let Some(browser) = chromium() else { return };
    let sample = Sample::new();
    let site = sample.write();
    assert_eq!(
        (
            site.experiments,
            site.claims,
            site.failed,
            site.left_out.len()
        ),
        (45, 6, 1, 1)
    );
    let names: Vec<String> = [0, 1, 2, 96].map(experiments::name).to_vec();
    let picks: Vec<&str> = names.iter().map(String::as_str).collect();
    let (seen, log) = drive(&browser, site.index.parent().unwrap(), &picks, width);
    let all: Vec<&str> = sample.results.keys().map(String::as_str).collect();
    assert_eq!(strings(&seen["rows"]), all);
    assert!(
        seen["lead"]
            .as_str()
            .unwrap()
            .starts_with("45 experiments, "),
        "{}",
        seen["lead"]
    );
    assert!(
        seen["leftOut"]
            .as_str()
            .unwrap()
            .contains("foreign.parquet: "),
        "{}",
        seen["leftOut"]
    );
    let failed = seen["failed"].as_str().unwrap();
    assert!(
        failed.starts_with("1 experiment failed") && failed.contains("Kernel panic"),
        "{failed}"
    );
    assert_eq!(strings(&seen["first"]).len(), 6);

    same(&seen["kernel61"], &sample.with(&[("kernel", &["6.1"])]));
    assert_eq!(seen["hash61"], "#kernel=6.1");
    // A setting that all rows share is shown above the table, the others in it.
    assert_eq!(
        seen["common61"].as_str().unwrap().split(" · ").next(),
        Some("All: kernel 6.1")
    );
    let columns = strings(&seen["columns61"]);
    assert!(
        !columns.contains(&"kernel") && columns.contains(&"load") && columns.contains(&"max"),
        "{columns:?}"
    );
    for load in ["none", "cpu", "eth-rx"] {
        let with = sample
            .with(&[("kernel", &["6.1"]), ("load", &[load])])
            .len();
        assert_eq!(seen["loads61"][load], with.to_string());
    }
    same(
        &seen["kernels"],
        &sample.with(&[("kernel", &["6.1", "6.12"])]),
    );
    let both: [(&str, &[&str]); 2] = [("kernel", &["6.1", "6.12"]), ("load", &["cpu"])];
    same(&seen["kernelsCpu"], &sample.with(&both));
    // A setting's own filter does not empty its other values.
    let other = sample
        .with(&[("kernel", &["5.10"]), ("load", &["cpu"])])
        .len();
    assert!(other > 0);
    assert_eq!(seen["kernelCountsCpu"]["5.10"], other.to_string());
    assert_eq!(seen["cleared"], 45);
    assert_eq!(
        seen["shared"], seen["kernelsCpu"],
        "an address gives the same view"
    );
    assert_eq!(
        seen["sharedTicked"],
        serde_json::json!([true, true, true, false])
    );

    let max = |name: &str| {
        sample.results[name]
            .latencies(None)
            .max()
            .unwrap_or(i64::MIN)
    };
    let down: Vec<i64> = strings(&seen["byMaxDown"]).into_iter().map(max).collect();
    assert!(
        down.is_sorted_by(|a, b| a >= b) && down.len() == 45,
        "{down:?}"
    );
    let up: Vec<i64> = strings(&seen["byMaxUp"]).into_iter().map(max).collect();
    assert!(up.is_sorted() && up[0] < up[44], "{up:?}");
    assert_eq!(
        (&seen["ariaDown"], &seen["focusKept"]),
        (&"descending".into(), &"max".into())
    );

    // Three in virtual time and one in real time: never in one chart.
    assert_eq!(strings(&seen["picked"]).len(), 3);
    assert_eq!(strings(&seen["pickedReal"]).len(), 1);
    let distinct: std::collections::BTreeSet<_> = strings(&seen["picked"]).into_iter().collect();
    assert_eq!(distinct.len(), 3, "{distinct:?}");
    let looks: std::collections::BTreeSet<_> = strings(&seen["looks"]).into_iter().collect();
    assert_eq!(looks.len(), 3);
    for chart in [
        "latency-profile",
        "latency-over-time",
        "latency-cdf",
        "loss",
    ] {
        for clock in ["virtual", "real"] {
            let name: Value = format!("{chart}-{clock}").into();
            assert!(
                seen["figures"].as_array().unwrap().contains(&name),
                "{name}: {}",
                seen["figures"]
            );
        }
    }
    for output in seen["clocks"].as_array().unwrap() {
        let real = output[0].as_str().unwrap().ends_with("-real");
        assert_eq!(
            (output[1].as_bool(), output[2].as_bool()),
            (Some(!real), Some(real)),
            "{output}"
        );
    }
    assert_eq!(
        seen["outside"],
        serde_json::json!([]),
        "text outside its chart at {width}"
    );
    let readout = seen["readout"].as_str().unwrap();
    assert!(
        readout.contains(" µs, ") && readout.ends_with(" frames"),
        "{readout}"
    );

    let saved = seen["saved"].as_array().unwrap();
    assert_eq!(saved.len(), 2 * seen["figures"].as_array().unwrap().len());
    assert!(saved.iter().all(|s| s[1] == true), "{saved:?}");

    // Text from a file stayed text.
    assert_eq!(
        (&seen["foreign"], &seen["pwned"]),
        (&0.into(), &false.into())
    );
    let dialog = seen["dialog"].as_str().unwrap();
    assert!(
        dialog.matches("<script>pwned=1</script>").count() >= 4,
        "{dialog}"
    );
    assert!(dialog.contains("What the method cannot see") && dialog.contains("__proto__"));
    assert_eq!(seen["dialogOpen"], true);
    assert_eq!(
        (&seen["openHash"], &seen["closedHash"]),
        (&"#open=hostile/evil".into(), &"".into())
    );

    assert_eq!(seen["dialogClosed"], true);
    charged(&seen, &sample.results[picks[0]]);
    assert!(
        seen["logHash"].as_str().unwrap().ends_with("&x=log"),
        "{}",
        seen["logHash"]
    );
    assert_eq!(
        strings(&seen["claims"]),
        [
            "✓ reproduced",
            "≠ differs",
            "– not testable here",
            "≠ differs",
            "✓ met",
            "≠ not met"
        ]
    );
    // Each kind is counted separately.
    assert_eq!(
        strings(&seen["claimCaptions"]),
        [
            "3 claims of the papers: 1 reproduced, 1 differs, 1 not testable here.",
            "1 of them on another way through the gateway, where differing is no fault: \
             0 reproduced, 1 differs, 0 not testable here.",
            "2 bounds that cangate is to keep: 1 met, 1 not met, 0 not testable here.",
        ]
    );
    assert!(
        seen["claimWords"]
            .as_str()
            .unwrap()
            .contains("not here: gone")
    );
    same(
        &seen["claimPicks"],
        &[
            &experiments::name(0),
            &experiments::name(7),
            &experiments::name(3),
        ],
    );
    assert_eq!(seen["nonsense"][0], 0, "{}", seen["nonsense"]);
    assert_eq!(seen["allDrawn"], 44, "all but the one in real time");
    assert_eq!(
        seen["width"][0], seen["width"][1],
        "scrolls sideways at {width}"
    );
    let console = browser::console(&log);
    assert!(console.is_empty(), "{console:?}");
}

/// The worst latency at 1 µs per access, from the records, is the end of the profile and the
/// highest dot of the time chart.
fn charged(seen: &Value, results: &RunResults) {
    let timed = || {
        results
            .records
            .iter()
            .filter_map(|r| Some((r.latency()?, r.accesses?)))
    };
    let plain = timed().map(|r| r.0).max().unwrap() as f64 / 1e3;
    let charged = timed().map(|r| r.0 + 1_000 * i64::from(r.1)).max().unwrap() as f64 / 1e3;
    assert_eq!(
        seen["worstCharged"],
        serde_json::json!([plain, plain, charged, charged])
    );
    assert!(charged > plain + 30.0);
    assert_eq!(seen["chargedSays"], true);
}

#[test]
fn same_results_same_bytes_wherever_they_lie() {
    let (a, b) = (Sample::new(), Sample::new());
    let (first, second) = (a.write(), b.write());
    assert_eq!(
        (first.bytes, &first.left_out),
        (second.bytes, &second.left_out)
    );
    let files = |site: &site::WrittenSite| -> BTreeMap<String, Vec<u8>> {
        let folder = site.index.parent().unwrap();
        let both = [folder.to_owned(), folder.join("data")];
        let entries = both.iter().flat_map(|f| std::fs::read_dir(f).unwrap());
        let files = entries.map(|e| e.unwrap().path()).filter(|p| p.is_file());
        files
            .map(|p| {
                (
                    p.file_name().unwrap().to_string_lossy().into_owned(),
                    std::fs::read(p).unwrap(),
                )
            })
            .collect()
    };
    let (one, two) = (files(&first), files(&second));
    assert_eq!(one.len(), 45 + 4, "details, index.js, page, script, style");
    assert!(one == two);
    let total: usize = one.values().map(Vec::len).sum();
    assert_eq!(total as u64, first.bytes);
    // Again, with fewer experiments: no files of the older site remain, and the site is not
    // searched.
    for n in NUMBERS {
        std::fs::remove_file(
            a.dir
                .path()
                .join(format!("{}.parquet", experiments::name(n))),
        )
        .unwrap();
    }
    let smaller = a.write();
    assert_eq!(smaller.experiments, 2);
    assert_eq!(files(&smaller).len(), 2 + 4);
}

#[test]
fn what_cannot_be_done_is_reported_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("site");
    let error = site::write(&dir.path().join("gone"), &out)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("gone") && error.contains("cannot read the folder"),
        "{error}"
    );
    std::fs::write(dir.path().join("x.parquet"), "no").unwrap();
    let error = site::write(dir.path(), &out).unwrap_err().to_string();
    assert!(
        error.contains("no results of cangate") && error.contains("x.parquet: "),
        "{error}"
    );
    assert!(!out.exists());
    std::fs::remove_file(dir.path().join("x.parquet")).unwrap();
    probe::results::write(
        &dir.path().join("y.parquet"),
        &experiments::experiment(1, 5),
    )
    .unwrap();
    std::fs::write(dir.path().join("claims.json"), "{").unwrap();
    std::fs::write(dir.path().join("z.failed.json"), "[]").unwrap();
    let site = site::write(dir.path(), &out).unwrap();
    let names: Vec<&str> = site.left_out.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(
        (site.experiments, names),
        (1, vec!["z.failed.json", "claims.json"])
    );
    std::fs::write(dir.path().join("file"), "").unwrap();
    let error = site::write(dir.path(), &dir.path().join("file/site"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot write the site there"), "{error}");
}
