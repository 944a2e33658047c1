use super::*;
use crate::watching::{DatabaseOfPort, NamedDatabases, SeenFrame, WatchLosses};
use frame::FrameBuf;
use frame::text::parse_frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::termion::event::Key;
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
            '\n' => Key::Char('\n'),
            '\x1b' => Key::Esc,
            'v' => Key::Down,
            '^' => Key::Up,
            c => Key::Char(c),
        };
        app.press(code)
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
fn eighty_columns() {
    let databases = databases();
    let expected = "\
cangate watch  body, engine
26 frames  5 rows  0 lost

 PORT     ID          COUNT  MEAN ms MESSAGE            DATA
▸body   R 123            20    10.00 EngineData         40 1F 02 11 22 33 44 13
 body   T 200             2    100.0 DoorState          01 00
 engine R 123             1        ·                    AA BB
 engine R 7DF             1        ·
 engine R 18DAF110        2    100.0                    00 01 02 03 04 05 06 …

q quit  h help  Enter open  d signals  s sort: ID  / filter  p pause  c clear
";
    assert_eq!(screen(&mut app(&databases), 80, 11), expected);
}

#[test]
fn a_wide_terminal_has_every_column_and_an_open_row_its_signals() {
    let databases = databases();
    let mut app = app(&databases);
    press(&mut app, "\n");
    let expected = "\
cangate watch  body, engine
26 frames  5 rows  0 lost

 PORT     ID       FORMAT   LEN    COUNT  MEAN ms      MIN      MAX MESSAGE            DATA
▸body   R 123      classic    8       20    10.00    10.00    10.00 EngineData         40 1F 02 11 22 33 44 13
       0: 40 1F 02 11 22 33 44 13
    Speed = 2000 rpm
    Gear = Second (2)
 body   T 200      classic    2        2    100.0    100.0    100.0 DoorState          01 00
 engine R 123      XL         2        1        ·        ·        ·                    AA BB
 engine R 7DF      remote     8        1        ·        ·        ·
 engine R 18DAF110 FD BRS    12        2    100.0    100.0    100.0                    00 01 02 03 04 05 06 …
q quit  h help  Enter open  d signals  s sort: ID  / filter  p pause  c clear
";
    assert_eq!(screen(&mut app, 110, 13), expected);
    // A frame of 12 bytes is whole when its row is open; the first Esc closes it.
    press(&mut app, "vvvv\n");
    let wide = screen(&mut app, 110, 13);
    assert!(
        wide.contains("   0: 00 01 02 03 04 05 06 07 08 09 0A 0B"),
        "{wide}"
    );
    assert!(!press(&mut app, "\x1b") && press(&mut app, "\x1b"));
    // The signals of all rows.
    press(&mut app, "d");
    let wide = screen(&mut app, 110, 14);
    assert!(
        wide.contains("Speed = 2000 rpm") && wide.contains("Locked = 1"),
        "{wide}"
    );
}

#[test]
fn bytes_that_have_changed_are_marked() {
    let databases = databases();
    let mut app = app(&databases);
    let marked = |app: &mut WatchApp<'_>, after| {
        let terminal = terminal(app, 80, 11, after);
        let buffer = terminal.backend().buffer();
        let row = 4;
        let is_marked = |x: &u16| buffer[(*x, row)].modifier.contains(Modifier::REVERSED);
        let text: String = (0..80)
            .filter(is_marked)
            .map(|x| buffer[(x, row)].symbol())
            .collect();
        text
    };
    // Only the last byte counts up; a second after the last frame it has no mark.
    assert_eq!(marked(&mut app, 200_000_000), "13");
    assert_eq!(marked(&mut app, 190_000_000 + SECOND), "");
    app.color = true;
    let terminal = terminal(&mut app, 80, 11, 200_000_000);
    let cell = &terminal.backend().buffer()[(77, 4)];
    assert_eq!((cell.symbol(), cell.fg), ("1", Color::Yellow));
}

#[test]
fn rows_are_sorted_filtered_and_scrolled() {
    let databases = databases();
    let mut app = app(&databases);
    let ids = |app: &mut WatchApp<'_>| -> Vec<String> {
        app.rows()
            .iter()
            .map(|(key, _)| key.id.to_string())
            .collect()
    };
    assert_eq!(ids(&mut app), ["123", "200", "123", "7DF", "18DAF110"]);
    press(&mut app, "s");
    let by_count = ["123", "200", "18DAF110", "123", "7DF"];
    assert_eq!(ids(&mut app), by_count, "the most frames");
    // More frames of the last row, at longer periods than that of another one.
    let more = [500_000_000, 900_000_000].map(|at| seen(at, "engine", false, "18DAF110##1AA"));
    app.take(more.into(), WatchLosses::default());
    let by_count = ["123", "18DAF110", "200", "123", "7DF"];
    assert_eq!(ids(&mut app), by_count, "the most frames");
    press(&mut app, "r");
    let last = by_count.iter().rev().map(|id| (*id).to_owned());
    assert_eq!(
        ids(&mut app),
        last.collect::<Vec<_>>(),
        "the most frames last"
    );
    press(&mut app, "rs");
    let by_period = ["123", "200", "18DAF110", "123", "7DF"];
    assert_eq!(ids(&mut app), by_period, "the shortest period");
    press(&mut app, "s");
    assert_eq!(ids(&mut app)[0], "18DAF110", "the latest");
    press(&mut app, "s/door\n");
    assert_eq!(ids(&mut app), ["200"], "by the name of the message");
    assert!(screen(&mut app, 80, 11).contains("/ filter: door"));
    press(&mut app, "\x1b");
    // Two rows have room: the selected one is among them.
    press(&mut app, "vvvvvvvv");
    let text = screen(&mut app, 80, 7);
    assert!(
        text.contains("▸engine R 18DAF110") && !text.contains("body   "),
        "{text}"
    );
    press(&mut app, "^^^^^^^^");
    assert!(screen(&mut app, 80, 7).contains("▸body   R 123"));
}

#[test]
fn a_paused_screen_stands_still_and_losses_are_shown() {
    let databases = databases();
    let mut app = app(&databases);
    press(&mut app, "p");
    let losses = WatchLosses {
        lost: 12,
        error_frames: 1,
    };
    app.take(vec![seen(200_000_000, "body", false, "123#FF")], losses);
    let text = screen(&mut app, 80, 11);
    assert!(
        text.contains("26 frames  5 rows  12 lost  1 error frame  paused"),
        "{text}"
    );
    assert!(text.contains("40 1F 02"), "{text}");
    press(&mut app, "p");
    let text = screen(&mut app, 80, 11);
    assert!(
        text.contains("27 frames") && text.contains("EngineData         FF\n"),
        "{text}"
    );
    press(&mut app, "c");
    assert!(screen(&mut app, 80, 11).contains("0 frames  0 rows"));
}

#[test]
fn one_interface_needs_no_column_of_ports() {
    let databases = NamedDatabases::default();
    let mut app = WatchApp::new(vec!["can0".to_owned()], false, &databases, false);
    app.take(
        vec![seen(0, "can0", false, "123#1122")],
        WatchLosses::default(),
    );
    let text = screen(&mut app, 80, 7);
    assert!(
        text.contains("\n ID       FORMAT   LEN    COUNT  MEAN ms DATA\n"),
        "{text}"
    );
    assert!(
        text.contains("\n▸123      classic    2        1        · 11 22\n"),
        "{text}"
    );
    press(&mut app, "h");
    assert!(screen(&mut app, 80, 24).contains("select a row"));
    assert!(press(&mut app, "q"));
}

#[test]
fn every_size_is_drawn() {
    let databases = databases();
    let mut app = app(&databases);
    press(&mut app, "\nd");
    for width in (1..120).step_by(7) {
        for height in (1..30).step_by(4) {
            let _ = terminal(&mut app, width, height, 0);
        }
    }
}
