//! `cangate bound --from-dbc`.

use crate::{cangate, stderr, stdout};
use std::path::PathBuf;

const DBC: &str = r#"VERSION "1"

BU_: Engine Brake Gateway

BO_ 256 Speed: 8 Engine
 SG_ Value : 0|16@1+ (0.1,0) [0|0] "km/h" Brake

BO_ 2566834686 Diagnosis: 8 Vector__XXX
BO_ 768 Fast: 20 Brake
BO_ 769 Door: 4 Brake
BO_ 770 Alarm: 1 Gateway
BO_ 771 Lamp: 1 Gateway
BO_ 256 Twice: 8 Brake
BO_ 2566834687 Long: 20 Brake
BO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 Vector__XXX

BO_TX_BU_ 769 : Brake,Gateway;
BA_DEF_ BO_ "GenMsgSendType" ENUM "cyclic","spontaneous","cyclicAndSpontaneous";
BA_DEF_ BO_ "VFrameFormat" ENUM "StandardCAN","ExtendedCAN","reserved","J1939PG","StandardCAN_FD";
BA_DEF_DEF_ "GenMsgCycleTime" 100;
BA_DEF_DEF_ "GenMsgSendType" "cyclic";
BA_ "DBName" "body bus";
BA_ "Baudrate" 250000;
BA_ "BaudrateCANFD" 2000000;
BA_ "GenMsgCycleTime" BO_ 256 10;
BA_ "GenMsgCycleTime" BO_ 770 0;
BA_ "GenMsgCycleTime" BO_ 769 0;
BA_ "GenMsgSendType" BO_ 769 1;
BA_ "GenMsgDelayTime" BO_ 769 20;
BA_ "GenMsgSendType" BO_ 771 2;
BA_ "VFrameFormat" BO_ 768 4;
BA_ "VFrameFormat" BO_ 2566834687 3;
"#;

fn file(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let file = folder.path().join("body.dbc");
    std::fs::write(&file, bytes).unwrap();
    file
}

/// The information in the file is in the set; missing information becomes a comment; and the set is
/// valid.
#[test]
fn a_set_is_made_from_a_dbc() {
    let folder = tempfile::tempdir().unwrap();
    let dbc = file(&folder, DBC.as_bytes());
    let set = stdout(cangate().args(["bound", "--from-dbc"]).arg(&dbc), 0);
    for words in [
        "[buses.bodybus]\nbitrate = 250000\ndata_bitrate = 2000000\n",
        "\n[[messages]]\nid = \"100\"\nname = \"Speed\"\nnode = \"Engine\"\nperiod = \"10ms\"\nlen = 8\n",
        "# No sender: it gets a node of its own.\n[[messages]]\nid = \"18FEC9FE\"\nname = \"Diagnosis\"\nperiod = \"100ms\"\n",
        "# No CANFD_BRS: assumed without bit rate switch, which takes longest.\n[[messages]]\nid = \"300\"\n",
        "kind = \"fd\"\nbrs = false\nlen = 20\n",
        "# Sent on events (spontaneous): the period is the least time between two frames, GenMsgDelayTime.\n\
         # CHECK: also sent by Gateway. This is one sender's.\n[[messages]]\nid = \"301\"",
        "period = \"20ms\"\nlongest_period = \"none\"\nlen = 4\n",
        "# LEFT OUT: 302 Alarm, line 11: it has no cycle time (GenMsgCycleTime) and no least distance (GenMsgDelayTime).\n\
         # [[messages]]\n# id = \"302\"\n",
        "# CHECK: also sent on events (cyclicAndSpontaneous), and no GenMsgDelayTime states how often.",
        "# LEFT OUT: 100 Twice, line 13: line 5 has this ID already.\n",
        "# LEFT OUT: 18FEC9FF Long, line 14: its 20 bytes are sent in several frames (J1939 transport protocol)",
        "\n# 8 messages, 3 of them left out, 2 to check.\n# VECTOR__INDEPENDENT_SIG_MSG is not a message.\n",
    ] {
        assert!(set.contains(words), "{words}\n{set}");
    }
    let toml = folder.path().join("set.toml");
    std::fs::write(&toml, &set).unwrap();
    let table = stdout(cangate().arg("bound").arg(&toml), 0);
    assert!(
        table.contains("18FEC9FE Diagnosis") && table.contains("Bus bodybus: 250k/2M"),
        "{table}"
    );
    // The command line's bit rate overrides the file's.
    let mut command = cangate();
    command.args(["bound", "--bitrate", "500k/4M", "--from-dbc"]);
    let set = stdout(command.arg(&dbc), 0);
    assert!(
        set.contains("bitrate = 500000\ndata_bitrate = 4000000"),
        "{set}"
    );
    // As tools on Windows write it.
    let windows: Vec<u8> = DBC
        .replace("km/h", "#")
        .replace('\n', "\r\n")
        .bytes()
        .map(|byte| if byte == b'#' { 0xB0 } else { byte })
        .collect();
    let dbc = file(&folder, &windows);
    let again = stdout(cangate().args(["bound", "--from-dbc"]).arg(&dbc), 0);
    assert!(
        again.ends_with(set.split_once("[[messages]]").unwrap().1),
        "{again}"
    );
}

/// The file's information on its signals, and its mistakes, are in the set.
#[test]
fn what_a_bound_must_not_rest_on_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = "BO_ 256 PumpState: 8 Pump\n SG_ Flow : 0|8@1+ (1,0) [0|255] \"\" Valve\n\n\
        BO_ 5000 Lost: 8 Pump\nBO_ 257 Slow: 8 Pump\n SG_ Level : 0|8@1+ (1,0) [0|0] \"\" Valve\n\n\
        BA_DEF_ SG_ \"GenSigSendType\" ENUM \"Cyclic\",\"OnWrite\",\"OnChange\";\n\
        BA_DEF_DEF_ \"GenSigSendType\" \"Cyclic\";\n\
        BA_DEF_ BO_ \"GenMsgCycleTime\" ENUM \"0\",\"20 ms\",\"100\";\n\
        BA_DEF_DEF_ \"GenMsgCycleTime\" \"100\";\nBA_ \"GenMsgCycleTime\" BO_ 256 1;\n\
        BA_ \"GenSigSendType\" SG_ 256 Flow 2;\nBA_ \"GenSigCycleTime\" SG_ 257 Level 50;\n";
    let dbc = file(&folder, text.as_bytes());
    let set = stdout(cangate().args(["bound", "--from-dbc"]).arg(&dbc), 0);
    for words in [
        "# CHECK: also sent on events (signal Flow: OnChange), and no GenMsgDelayTime states how often.",
        "name = \"PumpState\"\nnode = \"Pump\"\nperiod = \"20ms\"\n",
        "# Its cycle time is 100ms; that of a signal (GenSigCycleTime) is shorter.\n",
        "name = \"Slow\"\nnode = \"Pump\"\nperiod = \"50ms\"\n",
        "# CHECK: ID 5000 of Lost is above 2047 without the bit that marks 29 bits (2147483648): it is taken as one of 29 bits.\n\
            [[messages]]\nid = \"00001388\"\n",
        "\n# 3 messages, 0 of them left out, 2 to check.\n",
    ] {
        assert!(set.contains(words), "{words}\n{set}");
    }
}

#[test]
fn mistakes_of_a_dbc_have_their_places() {
    let folder = tempfile::tempdir().unwrap();
    for (text, words) in [
        (
            "BO_ 1 M: 8 A\nnonsense\n",
            "body.dbc: line 2, column 1: no statement of a DBC continues with `nonsense`",
        ),
        (
            "BO_ 1077282361 M: 8 A\n",
            "body.dbc: line 1, column 5: ID 1077282361: 40360639 has more than 29 bits",
        ),
        ("BU_: A\n", "no message in it"),
        (
            "BO_ 1 M: 12 A\nBA_ \"GenMsgCycleTime\" BO_ 1 10;\n",
            "M is an FD message, and the data bit rate is missing: add --bitrate 500k/2M",
        ),
    ] {
        let dbc = file(&folder, text.as_bytes());
        let err = stderr(cangate().args(["bound", "--from-dbc"]).arg(dbc), 2);
        assert!(err.contains(words), "{err}");
    }
    let arxml = match cfg!(feature = "arxml") {
        true => "is not the AUTOSAR of `http://autosar.org/schema/r4.0`",
        false => "an ARXML, which this build does not read: build cangate with `--features arxml`",
    };
    let kcd = match cfg!(feature = "kcd") {
        true => "no message in it",
        false => "a KCD, which this build does not read: build cangate with `--features kcd`",
    };
    for (text, words) in [
        ("<?xml version=\"1.0\"?>\n<AUTOSAR/>", arxml),
        ("<NetworkDefinition/>", kcd),
        ("FormatVersion=6.0\n", "no message in it"),
        ("FormatVersion=3.0\n", "version 3.0 is not read"),
        (
            "<fx:FIBEX/>",
            "it looks like a FIBEX, which cangate does not read: convert it to DBC",
        ),
    ] {
        let dbc = file(&folder, text.as_bytes());
        let err = stderr(cangate().args(["bound", "--from-dbc"]).arg(dbc), 2);
        assert!(err.contains(words), "{err}");
    }
    let missing = folder.path().join("none.dbc");
    let err = stderr(cangate().args(["bound", "--from-dbc"]).arg(missing), 2);
    assert!(err.contains("none.dbc"), "{err}");
}
