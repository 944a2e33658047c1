//! DBC files: the output of the grammar's crate, and the data that is read from it.

use crate::Target;
use frame::Kind;
use signals::dbc::read;
use signals::{DatabaseError, MessageDatabase};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "dbc",
    run,
    words: &[
        "VERSION \"\"\n",
        "NS_ :\n\tBA_\n",
        "BU_: A B\n",
        "BO_ 256 M: 8 A\n",
        "BO_ 2566834686 M: 64 Vector__XXX\n",
        "BO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 Vector__XXX\n",
        " SG_ s m0M : 0|8@1+ (1,0) [0|255] \"\" A,B\n",
        "BO_TX_BU_ 256 : A,B;\n",
        "BA_DEF_ BO_ \"VFrameFormat\" ENUM \"StandardCAN\",\"StandardCAN_FD\";\n",
        "BA_DEF_DEF_ \"GenMsgCycleTime\" 0;\n",
        "BA_ \"GenMsgCycleTime\" BO_ 256 10;\n",
        "BA_ \"CANFD_BRS\" BO_ 256 1;\n",
        "CM_ \"\\\"\n\";\n",
        "BA_DEF_ SG_ \"GenSigSendType\" ENUM \"Cyclic\",\"OnChange\";\n",
        "BA_ \"GenSigSendType\" SG_ 256 s 1;\n",
        "BA_ \"SystemMessageLongSymbol\" BO_ 256 \"Long\";\n",
        "BA_ \"GenSigStartValue\" SG_ 256 s 1;\n",
        "BA_REL_ \"GenSigTimeoutTime\" BU_SG_REL_ A SG_ 256 s 10;\n",
        "BA_ \"GenSigTimeoutTime_A\" SG_ 256 s 10;\n",
        "BA_ \"E2EProfile\" BO_ 256 \"P01\";\n",
        "SG_MUL_VAL_ 256 s s 1-2, 3-4;\n",
        "VAL_ 256 s 1 \"x\" ;\n",
        "CM_ SG_ 256 \"x\";\n",
        "SIG_VALTYPE_ 256 s : 1;\n",
        "SGTYPE_ x;\n",
        "\u{1A}",
        "\u{FEFF}",
        "\r\n",
        "-1e308",
        "99999999999999999999",
    ],
};

fn run(input: &[u8]) {
    check(input, &read(input));
}

/// Checks what a reader returns for a database of any format.
pub(super) fn check(input: &[u8], found: &Result<MessageDatabase, DatabaseError>) {
    let one_line = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    match found {
        Ok(database) => {
            let payload: Vec<u8> = input.iter().copied().chain([0xA5; 64]).take(64).collect();
            for message in &database.messages {
                assert!(message.line > 0 && message.len <= usize::from(u16::MAX));
                let identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let nodes = message.sender.iter().chain(&message.more_senders);
                for name in [&message.name].into_iter().chain(nodes) {
                    assert!(name.chars().all(identifier), "{message:?}");
                }
                assert!(message.id.number() <= 0x1FFF_FFFF);
                if message.fd.is_some() && message.len <= Kind::Fd.max_len() {
                    assert_eq!(frame::dlc::fd_padded(message.len), message.len);
                }
                for time in [message.cycle, message.fast, message.delay] {
                    assert!(time != Some(0));
                }
                for (signal, raw) in message.decode(&payload) {
                    assert!(signal.name.chars().all(identifier), "{signal:?}");
                    assert!(signal.field.end() <= payload.len());
                    let _ = (signal.physical(raw), signal.name_of(raw));
                }
            }
            for warning in &database.warnings {
                assert!(
                    warning.line > 0 && one_line(&warning.problem),
                    "{warning:?}"
                );
            }
        }
        // A position that an editor can show: within the text.
        Err(error) => {
            let lines = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
            let lines = lines.count() + 1;
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.line <= lines + 1, "{error}: {lines} lines");
            assert!(one_line(&error.problem), "{error}");
        }
    }
}
