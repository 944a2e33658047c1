//! `cangate decode` with databases in other formats than DBC.

use crate::{cangate, stderr, stdout};
use port::log::Database;
use signals::DatabaseFormat;
use std::path::Path;

const SYM: &str = "FormatVersion=6.0 // Do not edit this line!\n\n{SENDRECEIVE}\n\n[EngineData]\nID=100h\n\
    Var=Speed unsigned 0,16 -m /u:rpm /f:0.25\n";

const KCD: &str = "<NetworkDefinition xmlns=\"http://kayak.2codeornot2code.org/1.0\"><Bus name=\"B\">\
    <Message id=\"0x100\" name=\"EngineData\" length=\"8\">\
    <Signal name=\"Speed\" offset=\"0\" length=\"16\" endianess=\"big\"><Value slope=\"0.25\" unit=\"rpm\"/></Signal>\
    </Message></Bus></NetworkDefinition>";

const ARXML: &str = "<AUTOSAR xmlns=\"http://autosar.org/schema/r4.0\"><AR-PACKAGES><AR-PACKAGE>\
    <SHORT-NAME>P</SHORT-NAME><ELEMENTS>\
    <CAN-FRAME-TRIGGERING><SHORT-NAME>T</SHORT-NAME><FRAME-REF>/P/EngineData</FRAME-REF>\
    <IDENTIFIER>256</IDENTIFIER></CAN-FRAME-TRIGGERING>\
    <CAN-FRAME><SHORT-NAME>EngineData</SHORT-NAME><FRAME-LENGTH>8</FRAME-LENGTH>\
    <PDU-TO-FRAME-MAPPINGS><PDU-TO-FRAME-MAPPING><SHORT-NAME>M</SHORT-NAME><PDU-REF>/P/Pdu</PDU-REF>\
    </PDU-TO-FRAME-MAPPING></PDU-TO-FRAME-MAPPINGS></CAN-FRAME>\
    <I-SIGNAL-I-PDU><SHORT-NAME>Pdu</SHORT-NAME><I-SIGNAL-TO-PDU-MAPPINGS><I-SIGNAL-TO-I-PDU-MAPPING>\
    <SHORT-NAME>N</SHORT-NAME><I-SIGNAL-REF>/P/Speed</I-SIGNAL-REF>\
    <PACKING-BYTE-ORDER>MOST-SIGNIFICANT-BYTE-FIRST</PACKING-BYTE-ORDER>\
    <START-POSITION>7</START-POSITION></I-SIGNAL-TO-I-PDU-MAPPING></I-SIGNAL-TO-PDU-MAPPINGS></I-SIGNAL-I-PDU>\
    <I-SIGNAL><SHORT-NAME>Speed</SHORT-NAME><LENGTH>16</LENGTH>\
    <SYSTEM-SIGNAL-REF>/P/SystemSpeed</SYSTEM-SIGNAL-REF></I-SIGNAL>\
    <SYSTEM-SIGNAL><SHORT-NAME>SystemSpeed</SHORT-NAME><PHYSICAL-PROPS><SW-DATA-DEF-PROPS-VARIANTS>\
    <SW-DATA-DEF-PROPS-CONDITIONAL><COMPU-METHOD-REF>/P/Quarter</COMPU-METHOD-REF><UNIT-REF>/P/Unit</UNIT-REF>\
    </SW-DATA-DEF-PROPS-CONDITIONAL></SW-DATA-DEF-PROPS-VARIANTS></PHYSICAL-PROPS></SYSTEM-SIGNAL>\
    <COMPU-METHOD><SHORT-NAME>Quarter</SHORT-NAME><CATEGORY>LINEAR</CATEGORY><COMPU-INTERNAL-TO-PHYS><COMPU-SCALES>\
    <COMPU-SCALE><COMPU-RATIONAL-COEFFS><COMPU-NUMERATOR><V>0</V><V>1</V></COMPU-NUMERATOR>\
    <COMPU-DENOMINATOR><V>4</V></COMPU-DENOMINATOR></COMPU-RATIONAL-COEFFS></COMPU-SCALE>\
    </COMPU-SCALES></COMPU-INTERNAL-TO-PHYS></COMPU-METHOD>\
    <UNIT><SHORT-NAME>Unit</SHORT-NAME><DISPLAY-NAME>rpm</DISPLAY-NAME></UNIT>\
    </ELEMENTS></AR-PACKAGE></AR-PACKAGES></AUTOSAR>";

/// Formats that a build does not have are refused with the feature that reads them.
#[test]
fn a_database_can_be_in_any_format_of_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("in.log"), "(1.000000) can0 100#1F40000000000000\n").unwrap();
    for (name, text, feature) in [
        ("body.sym", SYM, None),
        ("body.kcd", KCD, Some(("kcd", cfg!(feature = "kcd")))),
        (
            "body.arxml",
            ARXML,
            Some(("arxml", cfg!(feature = "arxml"))),
        ),
    ] {
        std::fs::write(path(name), text).unwrap();
        let mut command = cangate();
        let log = path("in.log");
        command.arg("decode").arg(log).arg("-d").arg(path(name));
        match feature {
            Some((feature, false)) => {
                let error = stderr(&mut command, 2);
                let words = format!("build cangate with `--features {feature}`");
                assert!(error.contains(&words), "{error}");
            }
            _ => assert_eq!(
                stdout(&mut command, 0),
                "(1.000000) can0 EngineData: Speed=2000 rpm\n"
            ),
        }
    }
}

/// A database that is given as a log is recognised as the same as one that is read.
#[test]
fn logs_and_databases_know_the_same_formats() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../signals/tests/databases");
    let files: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .chain([SYM, KCD, ARXML, "<fx:FIBEX/>"].map(Into::into))
        .collect();
    assert!(files.len() >= 8);
    for bytes in files {
        let of_reader = match DatabaseFormat::of(&bytes) {
            DatabaseFormat::Dbc => Database::Dbc,
            DatabaseFormat::Kcd => Database::Kcd,
            DatabaseFormat::Arxml => Database::Arxml,
            DatabaseFormat::Sym => Database::Sym,
            DatabaseFormat::Fibex => Database::Fibex,
        };
        assert_eq!(Database::recognise(&bytes), Some(of_reader));
    }
}
