//! Functions that several tests of the checks use.

mod checksums;
mod counters;
mod messages;
mod parts;
mod silence;

use crate::config::{GatewayConfig, load_with};
use config::{Diagnostic, Diagnostics, Severity, SourceText};
use port::PortKinds;
use route::{Action, WriteSignals};
use signals::{ByteOrder, FieldLayout, FieldSource, FieldWrite, SignalField};
use std::path::Path;

/// A database with a protected message, one with checksum and counter by name, cyclic messages, an
/// FD message, and messages of transport protocols.
const BODY: &str = "VERSION \"\"\nBU_: Engine Gear Dash Tester\n\
BO_ 256 EngineData: 8 Engine\n SG_ Crc : 0|8@1+ (1,0) [0|0] \"\" Dash\n \
SG_ Counter : 8|4@1+ (1,0) [0|0] \"\" Dash\n SG_ Speed : 16|16@1+ (1,0) [0|0] \"\" Dash\n\
BO_ 272 GearData: 8 Gear\n SG_ GEAR_CHECKSUM : 56|8@1+ (1,0) [0|0] \"\" Dash\n \
SG_ GEAR_COUNTER : 48|4@1+ (1,0) [0|0] \"\" Dash\n SG_ Gear : 0|8@1+ (1,0) [0|0] \"\" Dash\n\
BO_ 288 Lamps: 8 Dash\n SG_ Lamp : 0|8@1+ (1,0) [0|0] \"\" Gear\n\
BO_ 304 Camera: 24 Dash\n SG_ Line : 0|8@1+ (1,0) [0|0] \"\" Gear\n\
BO_ 2016 DiagRequest: 8 Tester\n SG_ Req : 0|8@1+ (1,0) [0|0] \"\" Engine\n\
BO_ 2024 DiagResponse: 8 Engine\n SG_ Rsp : 0|8@1+ (1,0) [0|0] \"\" Tester\n\
BO_ 2566834688 DM1: 24 Engine\n SG_ Faults : 0|8@1+ (1,0) [0|0] \"\" Dash\n\
BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;\n\
BA_DEF_ BO_ \"VFrameFormat\" ENUM \"StandardCAN\",\"ExtendedCAN\",\"reserved\",\"J1939PG\";\n\
BA_DEF_DEF_ \"GenMsgCycleTime\" 0;\n\
BA_ \"GenMsgCycleTime\" BO_ 256 10;\nBA_ \"GenMsgCycleTime\" BO_ 272 20;\n\
BA_ \"GenMsgCycleTime\" BO_ 288 100;\nBA_ \"VFrameFormat\" BO_ 2566834688 3;\n";

const E2E: &str = "[e2e.engine]\nprofile = 'P01'\ndata_id = 0x123\nlength = 8\n";

fn load(text: &str) -> Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    load_by(text, BODY)
}

fn load_by(text: &str, body: &str) -> Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = SourceText::new("t", text);
    load_with(&source, &PortKinds::standard(), &|_: &Path| {
        Ok(body.as_bytes().to_vec())
    })
}

/// Returns a file with the ports `a`, `b` and `c`, of which `a` and `b` have the database.
fn file(more: &str) -> String {
    format!(
        "[databases.body]\nfile = 'body.dbc'\n\
         [ports.a]\nkind = 'bus'\ndatabase = 'body'\nnodes = ['Engine', 'Gear', 'Dash']\n\
         [ports.b]\nkind = 'bus'\ndatabase = 'body'\nnodes = ['Tester']\n[ports.c]\nkind = 'bus'\n{more}"
    )
}

/// Returns the severity and the sentence of each diagnostic, except that no route uses a port.
fn found(more: &str) -> Vec<(Severity, String)> {
    found_by(more, BODY)
}

fn found_by(more: &str, body: &str) -> Vec<(Severity, String)> {
    let all = match load_by(&file(more), body) {
        Ok((_, warnings)) => warnings,
        Err(all) => all,
    };
    let each = all.into_iter().map(|one| (one.severity, one.message));
    each.filter(|(_, message)| !message.starts_with("no route uses port"))
        .collect()
}

/// Checks that the file with `planted` has one diagnostic that contains the words, and that the
/// same file with `right` instead has none.
fn is_found(text: &str, planted: &str, right: &str, severity: Severity, words: &[&str]) {
    let wrong = found(&text.replace("PLANTED", planted));
    let [(found_severity, message)] = wrong.as_slice() else {
        panic!("{wrong:?}");
    };
    assert_eq!(*found_severity, severity, "{message}");
    for word in words {
        assert!(message.contains(word), "{word} in: {message}");
    }
    assert_eq!(found(&text.replace("PLANTED", right)), [], "{right}");
}

/// A route of the protected message, with its verification and the lines `PLANTED`.
fn protected() -> String {
    format!(
        "{E2E}[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\nPLANTED\n"
    )
}
