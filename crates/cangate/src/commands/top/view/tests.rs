use super::*;
use crate::rates::{GatewayRates, PortRate, RouteRate};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::termion::event::Key;
use std::time::Duration;

#[path = "../../../../tests/pictures/mod.rs"]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod pictures;

fn port(name: &str, state: &'static str, received: f64, lost: f64) -> PortRate {
    PortRate {
        name: name.into(),
        state,
        received: Some(received),
        sent: Some(7.25),
        errors: Some(0.0),
        lost: Some(lost),
        held: Some(3),
        load: None,
    }
}

fn route(name: &str, by: &str, taken: Option<f64>) -> RouteRate {
    RouteRate {
        name: name.into(),
        by: by.into(),
        messages: String::new(),
        taken,
        sent: taken,
        stopped: Some(2.0),
        lost: Some(0.0),
    }
}

fn rates() -> GatewayRates {
    GatewayRates {
        over: Duration::from_millis(1_004),
        ports: vec![
            port("engine", "up", 1204.0, 0.0),
            port("body", "error-passive", 80.5, 12.0),
        ],
        routes: vec![
            route("wheel speeds", "process", Some(400.0)),
            route("doors", "can-gw", None),
            route("engine torque", "bpf", Some(800.0)),
        ],
    }
}

fn app() -> TopApp {
    let mut app = TopApp::new("/run/cangate/body.sock".into(), false);
    assert!(app.handle_rates(rates()));
    app
}

fn press(app: &mut TopApp, keys: &str) -> bool {
    keys.chars().any(|c| {
        let code = match c {
            '\n' => Key::Char('\n'),
            '\t' => Key::Char('\t'),
            '\x1b' => Key::Esc,
            'v' => Key::Down,
            c => Key::Char(c),
        };
        app.press(code)
    })
}

fn screen(app: &mut TopApp, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

#[test]
fn eighty_columns() {
    let expected = "\
cangate top  /run/cangate/body.sock
received 1284/s  sent 14/s  lost 12/s  over 1.0 s

▸PORT         STATE             RECV/s     SENT/s   ERRORS/s     LOST/s  WAITING
engine        up                  1204        7.2          ·          ·        3
body          error-passive         80        7.2          ·         12        3
all ports                         1284         14          ·         12        6

ROUTE                       BY          TAKEN/s     SENT/s  STOPPED/s     LOST/s
wheel speeds                process         400        400        2.0          ·
doors                       can-gw            ?          ?        2.0          ·
engine torque               bpf             800        800        2.0          ·
all routes                                 1200       1200        6.0          ·
q quit  h help  s sort: file  r reverse  / filter  p pause  Tab ↑ ↓ scroll
";
    assert_eq!(screen(&mut app(), 80, 14), expected);
}

#[test]
fn rows_are_sorted_and_filtered() {
    let mut app = app();
    let order = |app: &mut TopApp| -> Vec<String> {
        let names = ["wheel", "doors", "torque"];
        let screen = screen(app, 80, 20);
        let lines = screen.lines();
        let named = |line: &str| names.iter().find(|name| line.contains(**name)).copied();
        lines.filter_map(named).map(str::to_owned).collect()
    };
    assert_eq!(order(&mut app), ["wheel", "doors", "torque"]);
    press(&mut app, "s");
    assert_eq!(order(&mut app), ["doors", "torque", "wheel"], "by name");
    press(&mut app, "s");
    assert_eq!(
        order(&mut app),
        ["torque", "wheel", "doors"],
        "the most taken"
    );
    press(&mut app, "r");
    assert_eq!(order(&mut app), ["doors", "wheel", "torque"]);
    press(&mut app, "/ENGqs");
    assert!(screen(&mut app, 80, 20).contains("filter: ENGqs"));
    app.press(Key::Backspace);
    app.press(Key::Backspace);
    press(&mut app, "\n");
    assert_eq!(order(&mut app), ["torque"]);
    assert!(screen(&mut app, 80, 20).contains("/ filter: ENG"));
    assert!(!press(&mut app, "\x1b"), "it ends the filter first");
    assert_eq!(order(&mut app).len(), 3);
    assert!(press(&mut app, "\x1b"));
    assert!(press(&mut app, "q"));
    let control_c = Key::Ctrl('c');
    assert!(app.press(control_c));
}

#[test]
fn routes_have_their_messages_as_far_as_there_is_room() {
    let mut app = app();
    let mut named = rates();
    named.routes[1].messages = "3A0 DoorState, 3A1 DoorLocked".into();
    assert!(app.handle_rates(named));
    let wide = screen(&mut app, 100, 14);
    assert!(
        wide.contains("\ndoors  3A0 DoorState, 3A1 DoorLocked  "),
        "{wide}"
    );
    let narrow = screen(&mut app, 80, 14);
    assert!(
        narrow.contains("\ndoors  3A0 DoorState, 3A1 D can-gw"),
        "{narrow}"
    );
    press(&mut app, "/locked\n");
    let found = screen(&mut app, 100, 14);
    assert!(
        found.contains("doors") && !found.contains("wheel speeds"),
        "{found}"
    );
}

#[test]
fn what_is_paused_stands_still() {
    let mut app = app();
    press(&mut app, "p");
    assert!(!app.handle_rates(GatewayRates::default()));
    assert!(screen(&mut app, 80, 12).contains("paused"));
    press(&mut app, "p");
    assert!(app.handle_rates(GatewayRates::default()));
    assert!(!screen(&mut app, 80, 12).contains("engine"));
}

#[test]
fn a_long_table_is_scrolled_to_its_end_and_no_further() {
    let mut app = app();
    let routes = (0..100).map(|i| route(&format!("r{i:02}"), "process", Some(1.0)));
    let rates = GatewayRates {
        routes: routes.collect(),
        ..GatewayRates::default()
    };
    app.handle_rates(rates);
    press(&mut app, "\t");
    assert!(screen(&mut app, 80, 12).contains("▸ROUTE"));
    for _ in 0..500 {
        press(&mut app, "v");
    }
    let end = screen(&mut app, 80, 12);
    assert!(end.contains("r99") && end.contains("r95"), "{end}");
}

#[test]
fn a_narrow_terminal_keeps_names_and_losses() {
    let screen = screen(&mut app(), 50, 14);
    let expected = "\
▸PORT           RECV/s     SENT/s     LOST/s
engine            1204        7.2          ·
";
    let narrow: String = screen
        .lines()
        .skip(3)
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(
        narrow.replace("  ", ""),
        expected.replace("  ", ""),
        "{screen}"
    );
    assert!(screen.contains("wheel speeds"), "{screen}");
}

#[test]
fn a_wide_terminal_has_the_tables_side_by_side() {
    let screen = screen(&mut app(), 160, 14);
    let head = screen.lines().nth(3).unwrap();
    assert!(head.contains("▸PORT") && head.contains("ROUTE"), "{screen}");
    assert!(head.chars().count() > 150, "the width is used: {screen}");
    let last = screen.lines().nth(12).unwrap();
    assert!(
        last.contains("all ports") && last.contains("all routes"),
        "{screen}"
    );
}

#[test]
fn help_is_shown_until_the_next_key() {
    let mut app = app();
    for key in ["h", "?"] {
        assert!(!press(&mut app, key));
        let help = screen(&mut app, 90, 20);
        assert!(
            help.contains("sort by the next column") && help.contains("LOST:"),
            "{help}"
        );
        assert!(!help.contains("wheel speeds"), "{help}");
        assert!(!press(&mut app, "x"));
        assert!(screen(&mut app, 90, 20).contains("wheel speeds"));
    }
    press(&mut app, "h");
    assert!(press(&mut app, "q"), "the end all the same");
}

#[test]
fn before_the_first_rates() {
    let mut app = TopApp::new("s".into(), true);
    assert!(screen(&mut app, 80, 10).contains("measuring"));
}

/// The screen is drawn for every size of the terminal.
#[test]
fn every_size_is_drawn() {
    for width in (0..30).chain([40, 79, 80, 81, 250]) {
        for height in (0..14).chain([60]) {
            let mut app = app();
            press(&mut app, "\tvvv");
            screen(&mut app, width, height);
        }
    }
}

/// The picture of the guide, from the buffer that the terminal is drawn from.
#[test]
fn picture_of_top() {
    let mut app = TopApp::new("/run/cangate/body.sock".into(), true);
    assert!(app.handle_rates(rates()));
    let (width, height) = (80, 14);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(&mut app, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let cell = |x, y| {
        let cell = &buffer[(x, y)];
        let has = |modifier| cell.modifier.contains(modifier);
        pictures::Cell {
            symbol: cell.symbol().to_owned(),
            bold: has(Modifier::BOLD),
            dim: has(Modifier::DIM),
            underlined: has(Modifier::UNDERLINED),
            alarm: cell.fg == Color::Red,
        }
    };
    let line = |y| (0..width).map(|x| cell(x, y)).collect();
    let lines: Vec<_> = (0..height).map(line).collect();
    let title = "cangate top in a terminal of 80 columns";
    pictures::keep(
        "top.svg",
        &pictures::terminal(title, usize::from(width), &lines),
    );
}
