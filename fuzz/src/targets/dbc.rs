//! DBC files: the output of the grammar's crate, and the data that is read from it.

use crate::Target;
use frame::Kind;
use signals::dbc::read;

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
        "\u{1A}",
        "\u{FEFF}",
        "\r\n",
        "-1e308",
        "99999999999999999999",
    ],
};

fn run(input: &[u8]) {
    match read(input) {
        Ok(database) => {
            for message in &database.messages {
                assert!(message.line > 0 && message.len <= usize::from(u16::MAX));
                let identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
                assert!(message.name.chars().all(identifier), "{message:?}");
                assert!(message.id.number() <= 0x1FFF_FFFF);
                if message.fd.is_some() && message.len <= Kind::Fd.max_len() {
                    assert_eq!(frame::dlc::fd_padded(message.len), message.len);
                }
                for time in [message.cycle, message.fast, message.delay] {
                    assert!(time != Some(0));
                }
            }
        }
        // A position that an editor can show: within the text.
        Err(error) => {
            let lines = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
            let lines = lines.count() + 1;
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.line <= lines + 1, "{error}: {lines} lines");
            assert!(!error.problem.is_empty() && !error.problem.contains('\n'));
        }
    }
}
