//! Statements about messages and signals that do not change the meaning of a payload, and names
//! that a file has twice.

use super::one;
use crate::dbc::read;
use crate::{Decimal, E2eAttributes, ReceiveTimeout, SignalDefinition};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const MESSAGE: &str = "BO_ 1 M: 8 A\n SG_ a : 0|8@1+ (1,0) [0|0] \"\" B,C\n \
    SG_ b : 8|8@1- (1,0) [0|0] \"\" Vector__XXX\n\n";

/// Returns both signals of [`MESSAGE`] in a file with these statements.
fn signals(statements: &str) -> [SignalDefinition; 2] {
    let message = one(&format!("{MESSAGE}{statements}"));
    message.signals.try_into().unwrap()
}

fn timeouts(signal: &SignalDefinition) -> Vec<(Option<&str>, u64)> {
    let times = signal.timeouts.iter();
    let times = times.map(|ReceiveTimeout { node, after }| (node.as_deref(), after / 1_000_000));
    times.collect()
}

#[test]
fn substitutes_are_exact_raw_values() {
    let [a, b] = signals(
        "BA_DEF_DEF_ \"GenSigInactiveValue\" 3;\nBA_ \"GenSigStartValue\" SG_ 1 a 0.1;\n\
         BA_ \"GenSigTimeoutValue\" SG_ 1 b -128;\n",
    );
    let decimal = |text: &str| text.parse::<Decimal>().ok();
    assert_eq!(a.substitutes.start, decimal("0.1"));
    assert_eq!(a.substitutes.timeout, None);
    assert_eq!(b.substitutes.start, None);
    assert_eq!(b.substitutes.timeout, decimal("-128"));
    assert_eq!(
        [a, b].map(|one| one.substitutes.inactive),
        [decimal("3"); 2]
    );
}

#[test]
fn each_receiver_has_its_timeout() {
    let relations = "BA_REL_ \"GenSigTimeoutTime\" BU_SG_REL_ B SG_ 1 a 250;\n\
        BA_REL_ \"GenSigTimeoutTime\" BU_SG_REL_ D SG_ 1 a 0;\n\
        BA_REL_ \"Other\" BU_SG_REL_ C SG_ 1 a 5;\nBA_REL_ \"GenSigTimeoutTime\" BU_BO_REL_ C 1 5;\n";
    let [a, b] = signals(relations);
    assert_eq!(timeouts(&a), [(Some("B"), 250)]);
    assert!(b.timeouts.is_empty());
    // Without a node, it is that of the other receivers.
    let [a, b] = signals(&format!(
        "{relations}BA_DEF_DEF_REL_ \"GenSigTimeoutTime\" 500;\n"
    ));
    assert_eq!(timeouts(&a), [(Some("B"), 250), (None, 500)]);
    assert_eq!(timeouts(&b), [(None, 500)]);
    // Some tools have an attribute of the signal for each node.
    let [a, b] = signals(
        "BA_DEF_DEF_ \"GenSigTimeoutTime_B\" 100;\nBA_ \"GenSigTimeoutTime_C\" SG_ 1 a 300;\n\
         BA_ \"GenSigTimeoutTime_B\" SG_ 1 b 70;\nBA_ \"SystemNodeLongSymbol\" BU_ C \"TheLongName\";\n",
    );
    assert_eq!(timeouts(&a), [(Some("TheLongName"), 300), (Some("B"), 100)]);
    assert_eq!(timeouts(&b), [(Some("B"), 70)]);
}

#[test]
fn end_to_end_protection_is_in_attributes_of_the_message() {
    let file = format!(
        "{MESSAGE}BA_DEF_ BO_ \"E2EProfile\" ENUM \"None\",\"P01\",\"P02\";\n\
         BA_DEF_DEF_ \"E2EProfile\" \"None\";\nBA_DEF_DEF_ \"E2ECrcSignal\" \"\";\n"
    );
    assert_eq!(one(&file).e2e, None);
    let own = "BA_ \"E2EDataId\" BO_ 1 291;\nBA_ \"E2EProfile\" BO_ 1 2;\n\
        BA_ \"E2ECounterSignal\" BO_ 1 \"b\";\nBA_ \"E2ETimeout\" BO_ 1 120;\n";
    let expected = E2eAttributes {
        line: 8,
        profile: Some("P02".to_owned()),
        data_id: Some("291".to_owned()),
        counter_signal: Some("b".to_owned()),
        crc_signal: None,
        timeout: Some(120_000_000),
    };
    assert_eq!(one(&format!("{file}{own}")).e2e, Some(expected));
}

/// A comment of a signal that it does not name is its message's.
#[test]
fn comments_are_kept() {
    let message = one(&format!(
        "{MESSAGE}CM_ SG_ 1 a \"a \\\"b\\\"\nc\";\nCM_ SG_ 1 \"of it\";\nCM_ \"of all\";\n"
    ));
    assert_eq!(message.comment, "of it");
    assert_eq!(message.signals[0].comment, "a \"b\"\nc");
    assert_eq!(message.signals[1].comment, "");
}

#[test]
fn what_a_file_has_twice_or_not_at_all_is_a_warning() {
    let warnings = |text: &str| -> Vec<String> {
        let found = read(format!("VERSION \"\"\n{text}").as_bytes()).unwrap();
        let words = found.warnings.iter();
        let words = words.map(|one| format!("{}: {}", one.line, one.problem));
        words.collect()
    };
    assert_eq!(
        warnings("BO_ 1 M: 8 A\nBO_ 1 N: 8 A\nBO_ 2 M: 8 A\nBO_ 2147483649 O: 8 A\n"),
        [
            "3: N has the ID 001 of M in line 2: its frames are taken as M",
            "4: line 2 has a message M, too",
        ]
    );
    let signal = " SG_ s : 0|8@1+ (1,0) [0|0] \"\" A\n";
    assert_eq!(
        warnings(&format!("BO_ 1 M: 8 A\n{signal}{signal}")),
        ["4: signal s of M: line 3 has a signal of this name, too"]
    );
    // Statements about signals that are left out are not doubtful themselves.
    let left_out = "BO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 A\n SG_ t : 0|8@1+ (1,0) [0|0] \"\" A\n\n\
        VAL_ 3221225472 t 1 \"x\" ;\n";
    assert_eq!(
        warnings(&format!(
            "BO_ 1 M: 8 A\n{signal}\n{left_out}VAL_ 1 t 1 \"x\" ;\nSIG_VALTYPE_ 2 s : 1;\nVAL_ env 1 \"x\" ;\n"
        )),
        [
            "9: VAL_ of a signal that is not in the file: t of message 1",
            "10: SIG_VALTYPE_ of a signal that is not in the file: s of message 2",
        ]
    );
}

/// A circle or a long chain of switches would be read in each frame.
#[test]
fn switches_are_nested_only_so_deep() {
    let mut file = "BO_ 1 M: 64 A\n SG_ s0 M : 0|8@1+ (1,0) [0|0] \"\" A\n".to_owned();
    let mut statements = String::from("\n");
    for index in 1..40 {
        file += &format!(" SG_ s{index} m1M : 0|8@1+ (1,0) [0|0] \"\" A\n");
        statements += &format!("SG_MUL_VAL_ 1 s{index} s{} 1-1;\n", index - 1);
    }
    let found = read(format!("{file}{statements}").as_bytes()).unwrap();
    assert_eq!(found.messages[0].signals.len(), 17);
    assert_eq!(found.warnings.len(), 23);
    assert!(found.warnings[0].problem.contains("more than 16"));
    assert_eq!(found.messages[0].decode(&[1; 64]).count(), 17);
}

/// Each prefix of a file is read or refused with a place in it.
#[test]
fn a_file_can_end_anywhere() {
    let file = super::FILE;
    let lines = file.lines().count();
    let mut read_whole = 0;
    let ends = (0..file.len()).step_by(7);
    for end in ends.filter(|end| file.is_char_boundary(*end)) {
        match read(&file.as_bytes()[..end]) {
            Ok(found) => read_whole += usize::from(found.messages.len() == 4),
            Err(error) => assert!((1..=lines + 1).contains(&error.line), "{end}: {error}"),
        }
    }
    assert!(read_whole > 20);
}
