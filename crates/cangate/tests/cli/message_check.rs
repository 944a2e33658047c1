//! `cangate check` with a database: what is shown of a message that its receivers would refuse.

use crate::{cangate, stderr, text};

const DATABASE: &str = "VERSION \"\"\nBU_: Engine Dash\n\
    BO_ 256 EngineData: 8 Engine\n SG_ Crc : 0|8@1+ (1,0) [0|0] \"\" Dash\n \
    SG_ Counter : 8|4@1+ (1,0) [0|0] \"\" Dash\n SG_ Speed : 16|16@1+ (1,0) [0|0] \"\" Dash\n\
    BO_ 288 Lamps: 8 Dash\n SG_ Lamp : 0|8@1+ (1,0) [0|0] \"\" Engine\n\
    BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;\nBA_DEF_DEF_ \"GenMsgCycleTime\" 0;\n\
    BA_ \"GenMsgCycleTime\" BO_ 256 10;\nBA_ \"GenMsgCycleTime\" BO_ 288 100;\n";

const FILE: &str = "\
[databases.body]
file = \"body.dbc\"

[ports.a]
kind = \"bus\"
database = \"body\"

[ports.b]
kind = \"bus\"

[e2e.engine]
profile = \"P01\"
data_id = 0x123
length = 8

";

/// Returns a folder with the database and the file with these routes.
fn folder(routes: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("body.dbc"), DATABASE).unwrap();
    std::fs::write(
        folder.path().join("gateway.toml"),
        format!("{FILE}{routes}"),
    )
    .unwrap();
    folder
}

const ROUTE: &str = "[[routes]]
name = \"engine\"
from = \"a\"
to = \"b\"
id = \"100\"
kind = \"classic\"
verify = \"engine\"
";

const STALE: &str = "\
error: route `engine` changes bytes 2, 3 (Speed) of 100 EngineData (body.dbc, line 3) and leaves a wrong checksum: \
receivers that check it refuse the frames (protection `engine`)
  --> gateway.toml:16:1
   |
16 | [[routes]]
   | ^^^^^^^^^^
   |
   = help: add `protect = \"engine\"` to the route: it writes the checksum after all actions
";

const ALIASED: &str = "\
error: `limit` of route `engine` leaves every 15th frame of 100 EngineData (body.dbc, line 3), which comes every \
10 ms: its counter has 15 values, so that receivers get the same one for ever and count each frame as repeated \
(protection `engine`)
  --> gateway.toml:16:1
   |
16 | [[routes]]
   | ^^^^^^^^^^
   |
   = help: add `protect = \"engine\"`, and `counter = \"own\"` to [e2e.engine]: the frames that are sent then count up; \
or raise the limit to the message's rate
";

const SLOW: &str = "\
warning: `limit` of route `lamps` (4/s) is below the rate of 120 Lamps (body.dbc, line 7), which comes every 100 ms \
(10/s): about 60 % of them are dropped in normal operation
  --> gateway.toml:23:1
   |
23 | [[routes]]
   | ^^^^^^^^^^
   |
   = help: raise `limit` above 10/s, or leave it out; if the receivers need fewer frames, it is right as it is
";

#[test]
fn a_stale_checksum_is_an_error_with_both_lines_and_the_cure() {
    let folder = folder(&format!(
        "{ROUTE}do = [{{ and = {{ data = \"FFFF0000\" }} }}]\n"
    ));
    let mut check = cangate();
    let err = stderr(
        check
            .arg("check")
            .arg("gateway.toml")
            .current_dir(folder.path()),
        2,
    );
    assert_eq!(err, STALE);
}

#[test]
fn a_counter_that_aliases_is_an_error_with_both_lines_and_the_cure() {
    let folder = folder(&format!("{ROUTE}limit = \"20/3s\"\n"));
    let mut check = cangate();
    let err = stderr(
        check
            .arg("check")
            .arg("gateway.toml")
            .current_dir(folder.path()),
        2,
    );
    assert_eq!(err, ALIASED);
}

#[test]
fn a_limit_below_the_rate_is_a_warning() {
    let lamps = ROUTE
        .replace("100", "120")
        .replace("verify = \"engine\"\n", "limit = \"4/s\"\n");
    let folder = folder(&format!(
        "{ROUTE}{}",
        lamps.replace("\"engine\"", "\"lamps\"")
    ));
    let mut check = cangate();
    let output = check
        .arg("check")
        .arg("gateway.toml")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), SLOW);
}
