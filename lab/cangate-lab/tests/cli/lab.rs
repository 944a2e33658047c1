//! `cangate lab measure`, `run`, `list`, `reproduce`: errors that are reported before any guest is
//! needed.

use assert_cmd::Command;

fn cangate(args: &[&str]) -> Command {
    let mut command = crate::cangate();
    command.args(args);
    command
}

/// Returns the output on standard error, with this exit status.
fn refused(args: &[&str], status: i32) -> String {
    let output = cangate(args).output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_wrong_word_names_the_option_and_what_there_is() {
    let text = refused(&["lab", "measure", "--traffic", "fluod"], 2);
    assert!(
        text.contains("--traffic: `fluod` is not a traffic pattern"),
        "{text}"
    );
    assert!(text.contains("oneatatime, load:PERCENT, flood"), "{text}");
    let text = refused(&["lab", "measure", "--kernel", "2.6.33"], 2);
    assert!(text.contains("5.10, 5.10-rt, 6.1"), "{text}");
}

#[test]
fn words_that_do_not_go_together_are_refused_with_the_reason() {
    let text = refused(
        &["lab", "measure", "--traffic", "load:50", "--payload", "16"],
        2,
    );
    assert!(
        text.contains("--traffic load:50 --bench kvaser: a share of the bus"),
        "{text}"
    );
    assert!(
        text.contains("--payload 16 --bench kvaser: FD frames"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_on_several_machines_is_refused_before_a_guest_boots() {
    for (words, why) in [
        (
            "--bench ctucan",
            "--apart --bench ctucan: machines in step have SJA1000 cards",
        ),
        (
            "--bench timed",
            "--apart --bench timed --load none: the tester of the timed bench",
        ),
        (
            "--gateway direct",
            "--apart --gateway direct: buses between",
        ),
        ("--real-time", "--apart --real-time: machines go in step"),
        ("yes", "unexpected argument 'yes'"),
    ] {
        let mut line = vec!["lab", "measure", "--apart"];
        line.extend(words.split(' '));
        let text = refused(&line, 2);
        assert!(text.contains(why), "{words}: {text}");
    }
    let text = refused(&["lab", "rate", "--apart"], 2);
    assert!(text.contains("unexpected argument '--apart'"), "{text}");
}

#[test]
fn a_monitor_states_what_its_machine_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (kernel, out) = (path("vmlinux"), path("out"));
    let line = [
        &["lab", "monitor", "--kernel", &kernel, "--image", &kernel][..],
        &["--line", "quiet", "--console", &out, "--agent", &out],
    ]
    .concat();
    let with = |memory: &str| refused(&[&line[..], &["--memory", memory]].concat(), 1);
    let text = with("16");
    assert!(
        text.contains("cannot open") && text.contains(&kernel),
        "{text}"
    );
    std::fs::write(&kernel, [0; 4096]).unwrap();
    let text = with("16");
    assert!(
        text.contains("is not a kernel that can be started"),
        "{text}"
    );
    let text = refused(&[&line[..], &["--memory", "4"]].concat(), 2);
    assert!(text.contains("16..=3072"), "{text}");
}

#[test]
fn a_matrix_is_listed_or_refused_with_places() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.toml");
    std::fs::write(&file, "[[matrix]]\nseed = [1, 2]\npayload = [2, 4]\n").unwrap();
    let file = file.to_str().unwrap();
    let output = cangate(&["lab", "list", file]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("6.1_kvaser_cangw_oneatatime_none_2B_500f_seed-2"),
        "{text}"
    );
    assert!(text.contains("4 experiments"), "{text}");
    std::fs::write(file, "[[matrix]]\nsede = 1\n").unwrap();
    for command in ["list", "run"] {
        let text = refused(&["lab", command, file], 2);
        assert!(text.contains("did you mean `seed`?"), "{text}");
        assert!(text.contains("m.toml:2:1"), "{text}");
    }
}

#[test]
fn an_unknown_claim_is_refused() {
    let text = refused(&["lab", "reproduce", "--claims", "G1,G99"], 2);
    assert!(
        text.contains("`G99` is not a claim: choose one of G1, G2"),
        "{text}"
    );
}

#[test]
fn a_rate_of_what_there_is_not_is_refused() {
    for (words, place) in [
        (&["--gateway", "iptables"][..], "--gateway: `iptables`"),
        (
            &["--bench", "vcan"],
            "--bench vcan --gateway cangw: this bench has no tester",
        ),
        (&["--filters", "list:4096"], "--filters: `4096`"),
        (&["--frames", "0"], "--frames: `0`"),
        (
            &["--payload", "16"],
            "--payload 16 --bench kvaser: FD frames",
        ),
        (
            &["--gateway", "bpf", "--hops", "2"],
            "--gateway bpf --hops 2: a program, BPF and the rules that cangate adds",
        ),
        (&["--traffic", "flood"], "unexpected argument '--traffic'"),
    ] {
        let args: Vec<_> = ["lab", "rate"].iter().chain(words).copied().collect();
        let text = refused(&args, 2);
        assert!(text.contains(place), "{words:?}: {text}");
    }
    // The folder for the attempts is a file.
    let file = tempfile::NamedTempFile::new().unwrap();
    let name = file.path().to_str().unwrap();
    let text = refused(&["lab", "rate", "--out", name], 1);
    assert!(text.contains(name), "{text}");
}

#[test]
fn claims_without_a_value_are_listed() {
    for args in [
        &["lab", "reproduce", "--claims"][..],
        &["lab", "reproduce", "--claims", "list"],
        &["lab", "reproduce", "--claims", "--quick"],
    ] {
        let output = cangate(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let claim = |id: &str| {
            let mut of = lines
                .iter()
                .filter(|line| line.starts_with(&format!("{id} ")));
            (of.next().copied().unwrap_or_default(), of.count())
        };
        let (g2, more) = claim("G2");
        assert!(g2.contains("A flood has a lower best case"), "{text}");
        assert!(g2.ends_with("(gateway-2011 §3.2)"), "{text}");
        assert_eq!(more, 0);
        for id in ["G1", "G5/bpf", "G12", "S1", "O8"] {
            assert!(!claim(id).0.is_empty(), "{id}: {text}");
        }
    }
    let text = refused(&["lab", "reproduce", "--claims", "G99"], 2);
    assert!(text.contains("--claims list"), "{text}");
}

/// `cargo xtask test --all` has the claims that remain with these options, and `--long` the rest.
#[test]
fn claims_with_machines_and_searches_can_be_left_out() {
    struct Listed {
        id: String,
        machines: bool,
        searches: bool,
    }
    let listed = |words: &str| -> Vec<Listed> {
        let words = format!("lab reproduce --quick --list --json {words}");
        let args: Vec<_> = words.split_whitespace().collect();
        let output = cangate(&args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        let claims: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        let one = |claim: &serde_json::Value| Listed {
            id: claim["id"].as_str().unwrap().to_owned(),
            machines: claim["machines"].as_bool().unwrap(),
            searches: claim["searches"].as_bool().unwrap(),
        };
        claims.iter().map(one).collect()
    };
    let ids = |claims: &[Listed], keeps: fn(&Listed) -> bool| -> Vec<String> {
        let kept = claims.iter().filter(|claim| keeps(claim));
        kept.map(|claim| claim.id.clone()).collect()
    };
    let all = listed("");
    let machines = ids(&all, |claim| claim.machines);
    for id in ["V2", "V5", "O18", "O24", "O27"] {
        assert!(machines.iter().any(|name| name == id), "{id}: {machines:?}");
    }
    for id in ["G1", "G5/bpf", "D1", "S7", "O9", "O16", "O26"] {
        assert!(
            !machines.iter().any(|name| name == id),
            "{id}: {machines:?}"
        );
    }
    let every = |_: &Listed| true;
    assert_eq!(
        ids(&listed("--without-machines"), every),
        ids(&all, |claim| !claim.machines)
    );
    let without_searches = ids(&listed("--without-searches"), every);
    assert_eq!(without_searches, ids(&all, |claim| !claim.searches));
    assert!(without_searches.len() < all.len());
    assert_eq!(
        ids(&listed("--without-machines --without-searches"), every),
        ids(&all, |claim| !claim.machines && !claim.searches)
    );
    let text = refused(
        &[
            "lab",
            "reproduce",
            "--quick",
            "--claims",
            "V2",
            "--without-machines",
        ],
        2,
    );
    assert!(text.contains("leave out --without-machines"), "{text}");
}

#[test]
fn a_plan_that_cannot_run_in_step_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let with = |text: &str| {
        std::fs::write(&path, text).unwrap();
        refused(&["lab", "machines", path.to_str().unwrap()], 2)
    };
    let two = "[machines.a]\ncommand = \"true\"\n[machines.b]\ncommand = \"true\"\n";
    let text = with(&format!(
        "interval = \"100us\"\n{two}[links.body]\nkind = \"can\"\nbitrate = \"500k\"\n"
    ));
    assert!(text.contains("plan.toml:1:1"), "{text}");
    assert!(
        text.contains(
            "an interval of 100000 ns is too long: on link body, a message takes only 87999 ns"
        ),
        "{text}"
    );
    // A bus with FD frames: a bit rate that it cannot have, and a kernel without the driver.
    let fd = |keys: &str| with(&format!("{two}[links.body]\nkind = \"can\"\n{keys}"));
    let text = fd("data_bitrate = \"500k\"\nbitrate = \"1M\"\n");
    assert!(text.contains("plan.toml:7:16"), "{text}");
    assert!(text.contains("not 1000000 with 500000"), "{text}");
    let text = fd("data_bitrate = \"2M\"\n[machines.c]\ncommand = \"true\"\nkernel = \"5.10\"\n");
    assert!(text.contains("plan.toml:7:16"), "{text}");
    assert!(text.contains("give the machine a newer `kernel`"), "{text}");
    let text = with(&format!("{two}[links.body]\nkind = \"cna\"\n"));
    assert!(text.contains("did you mean `can`?"), "{text}");
    std::fs::write(&path, format!("{two}[links.body]\nkind = \"can\"\n")).unwrap();
    let plan = path.to_str().unwrap();
    let text = refused(&["lab", "machines", plan, "--match", "body:head"], 2);
    assert!(text.contains("no link `head` in the plan"), "{text}");
}
