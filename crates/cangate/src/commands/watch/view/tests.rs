use super::*;
use crate::watching::{DatabaseOfPort, NamedDatabases, SeenFrame, WatchLosses};
use frame::FrameBuf;
use frame::text::parse_frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::Arc;

const SECOND: Nanos = 1_000_000_000;
const START: Nanos = 1_700_000_000 * SECOND;

/// Two messages of a bus, one of them multiplexed.
const DATABASE: &str = "BU_: Engine Door\n\
    BO_ 291 EngineData: 8 Engine\n \
    SG_ Speed : 0|16@1+ (0.25,0) [0|8000] \"rpm\" Door\n \
    SG_ Gear : 16|4@1+ (1,0) [0|15] \"\" Door\n\
    BO_ 512 DoorState: 2 Door\n \
    SG_ Locked : 0|1@1+ (1,0) [0|1] \"\" Engine\n\
    VAL_ 291 Gear 1 \"First\" 2 \"Second\" ;\n";

fn databases() -> NamedDatabases {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, DATABASE.as_bytes()).unwrap();
    let choice: DatabaseOfPort = file.path().display().to_string().parse().unwrap();
    NamedDatabases::read(&[choice]).unwrap()
}

fn seen(after: Nanos, port: &str, is_sent: bool, text: &str) -> SeenFrame {
    let mut frame = FrameBuf::new();
    parse_frame(text.as_bytes(), &mut frame).unwrap();
    SeenFrame::new(START + after, &Arc::from(port), is_sent, frame.view())
}

/// Frames of some IDs in 200 ms.
fn frames() -> Vec<SeenFrame> {
    let mut all = Vec::new();
    for n in 0..20 {
        let at = n * 10_000_000;
        all.push(seen(
            at,
            "body",
            false,
            &format!("123#{:04X}0211223344{n:02X}", 0x401F),
        ));
        if n % 10 == 0 {
            all.push(seen(at + 70_000, "body", true, "200#0100"));
            all.push(seen(
                at + 90_000,
                "engine",
                false,
                "18DAF110##1000102030405060708090A0B",
            ));
        }
    }
    all.push(seen(150_000_000, "engine", false, "7DF#R8"));
    all.push(seen(
        150_000_000,
        "engine",
        false,
        "45123#81:00:12345678#AABB",
    ));
    all
}

fn app(databases: &NamedDatabases) -> WatchApp<'_> {
    let ports = vec!["body".to_owned(), "engine".to_owned()];
    let mut app = WatchApp::new(ports, true, databases, false);
    app.take(frames(), WatchLosses::default());
    app
}

fn press(app: &mut WatchApp<'_>, keys: &str) -> bool {
    keys.chars().any(|c| {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            'v' => KeyCode::Down,
            '^' => KeyCode::Up,
            c => KeyCode::Char(c),
        };
        app.press(KeyEvent::new(code, KeyModifiers::NONE))
    })
}

fn terminal(
    app: &mut WatchApp<'_>,
    width: u16,
    height: u16,
    after: Nanos,
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(app, START + after, frame))
        .unwrap();
    terminal
}

fn screen(app: &mut WatchApp<'_>, width: u16, height: u16) -> String {
    let terminal = terminal(app, width, height, 200_000_000);
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

#[test]
fn look() {
    let databases = databases();
    let mut app = app(&databases);
    println!("{}", screen(&mut app, 80, 12));
    println!("{}", screen(&mut app, 110, 12));
    press(&mut app, "\nd");
    println!("{}", screen(&mut app, 110, 24));
    press(&mut app, "h");
    println!("{}", screen(&mut app, 100, 24));
}
