//! The notifications to the service manager while a gateway runs, and the watchdog of the worker.

use config::{Diagnostics, SourceText, TomlTable};
use engine::LinkState;
use frame::Nanos;
use gateway::config::load;
use gateway::control::{ControlRequest, request};
use gateway::notice::{LoggedNotice, Notice};
use gateway::run::{EndReason, RunOptions, run};
use gateway::service::ServiceContext;
use port::{
    Accepted, FlushReport, Halves, OutgoingFrame, PollReceive, PollTransmit, PortError, PortKind,
    PortKinds, PortOpener, PortSettings, PortWait, Receive, ReceivedFrame, RxCounters, RxReport,
    Transmit, TransmitRefusal, TxCounters,
};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A lock that stops the worker while the test holds it.
type Brake = Arc<Mutex<()>>;

/// Switches by which a test changes the state of its ports.
#[derive(Clone, Default, Debug)]
struct PortSwitches {
    /// While this is held, the worker blocks at the port, which no real port should do.
    brake: Brake,
    /// While this is held, no port is opened.
    opening: Brake,
    /// Whether the port's interface is down.
    down: Arc<AtomicBool>,
}

/// A port with these switches.
struct StickyKind(PortSwitches);

#[derive(Debug)]
struct StickySettings(PortSwitches);

impl PartialEq for StickySettings {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.brake, &other.0.brake)
    }
}

impl PortKind for StickyKind {
    fn keyword(&self) -> &'static str {
        "sticky"
    }

    fn parse(&self, _: &str, _: &mut TomlTable<'_>, _: &mut Diagnostics) -> Arc<dyn PortSettings> {
        Arc::new(StickySettings(self.0.clone()))
    }
}

impl PortSettings for StickySettings {
    fn kind(&self) -> &'static str {
        "sticky"
    }

    fn describe(&self) -> String {
        "a port that can stick".to_owned()
    }

    fn open(&self, _: &str, _: &mut PortOpener) -> Result<Halves, PortError> {
        drop(self.0.opening.lock());
        let half = || {
            Box::new(Sticky {
                switches: self.0.clone(),
            })
        };
        Ok((half(), half()))
    }
}

struct Sticky {
    switches: PortSwitches,
}

impl Receive for Sticky {
    fn receive(
        &mut self,
        _: Nanos,
        _: usize,
        _: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        drop(self.switches.brake.lock());
        // The link changes at any time, also between two calls.
        Ok(RxReport {
            news: true,
            ..RxReport::default()
        })
    }

    fn is_up(&self) -> bool {
        !self.switches.down.load(Relaxed)
    }

    fn link(&self) -> LinkState {
        match self.is_up() {
            true => LinkState::Up,
            false => LinkState::Down,
        }
    }

    /// The worker steps again at once, and so blocks here soon after the brake is held.
    fn deadline(&self) -> Option<Nanos> {
        Some(0)
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl PollReceive for Sticky {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

impl Transmit for Sticky {
    fn transmit(&mut self, _: Nanos, _: OutgoingFrame<'_>) -> Result<Accepted, TransmitRefusal> {
        Ok(Accepted)
    }

    fn flush(&mut self, _: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}

impl PollTransmit for Sticky {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

/// The manager's end of the socket.
struct Manager(UnixDatagram);

impl Manager {
    /// Returns the next message.
    fn hears(&self) -> String {
        let mut bytes = [0; 4096];
        let n = self.0.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..n].to_vec()).unwrap()
    }

    /// Returns the next message that starts like this; the messages before it are of the kind that
    /// may come at any time.
    fn waits_for(&self, start: &str) -> String {
        loop {
            let message = self.hears();
            if message.starts_with(start) {
                return message;
            }
            assert!(
                message.starts_with("WATCHDOG=1") || message.starts_with("STATUS="),
                "{message} before {start}"
            );
        }
    }
}

#[test]
fn the_manager_hears_of_start_reload_life_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let manager = Manager(UnixDatagram::bind(at("notify")).unwrap());
    let patience = Duration::from_secs(60);
    manager.0.set_read_timeout(Some(patience)).unwrap();
    let text = format!(
        "[gateway]\nrealtime = false\nlock_memory = false\ncontrol = '{}'\n\
         [ports.a]\nkind = 'sticky'\n[ports.b]\nkind = 'sticky'\n[[routes]]\nfrom = 'a'\nto = 'b'\n",
        at("control").display()
    );
    std::fs::write(at("g.toml"), &text).unwrap();
    let switches = PortSwitches::default();
    let PortSwitches { brake, opening, .. } = &switches;
    let kinds = PortKinds::standard().with(StickyKind(switches.clone()));
    let options = RunOptions {
        file: Some(at("g.toml")),
        service: Some(ServiceContext {
            socket: at("notify").into(),
            watchdog: Some(Duration::from_millis(300)),
        }),
        ..RunOptions::default()
    };
    let (config, _) = load(&SourceText::new("t", text.clone()), &kinds).unwrap();
    let gateway = std::thread::spawn(move || run(config, &kinds, &options, &|_| ()).unwrap());
    let ready = manager.hears();
    assert_eq!(ready, "READY=1\nSTATUS=2 ports, 1 route; 0 frames received");
    manager.waits_for("WATCHDOG=1\nSTATUS=2 ports, 1 route; 0 frames received");

    // The control thread still runs; it must not report that the worker is alive.
    let held = brake.lock().unwrap();
    manager.waits_for("STATUS=the worker does not answer");
    for _ in 0..3 {
        assert_eq!(manager.hears(), "STATUS=the worker does not answer");
    }
    drop(held);
    manager.waits_for("WATCHDOG=1\n");

    let ask = |what| request(&at("control"), &what, patience);
    ask(ControlRequest::Reload).unwrap();
    let begun = manager.waits_for("RELOADING=1\nMONOTONIC_USEC=");
    assert!(begun.contains("\nSTATUS="), "{begun}");
    let ready = manager.waits_for("READY=1\n");
    assert!(!ready.contains("refused"), "{ready}");
    std::fs::write(at("g.toml"), "nonsense").unwrap();
    ask(ControlRequest::Reload).unwrap_err();
    manager.waits_for("RELOADING=1\n");
    let ready = manager.waits_for("READY=1\n");
    let refused = "; the last reload was refused";
    assert!(ready.ends_with(refused), "{ready}");
    // The status reports it for as long as it is true.
    let alive = manager.waits_for("WATCHDOG=1\n");
    assert!(alive.ends_with(refused), "{alive}");
    std::fs::write(at("g.toml"), &text).unwrap();
    ask(ControlRequest::Reload).unwrap();
    manager.waits_for("RELOADING=1\n");
    let ready = manager.waits_for("READY=1\n");
    assert!(!ready.contains("refused"), "{ready}");

    // A reload that takes long: signs of life come meanwhile, and only while the worker answers.
    let held = opening.lock().unwrap();
    let other = text
        .replace("ports.b", "ports.c")
        .replace("to = 'b'", "to = 'c'");
    std::fs::write(at("g.toml"), other).unwrap();
    let control = at("control");
    let asked = std::thread::spawn(move || request(&control, &ControlRequest::Reload, patience));
    manager.waits_for("RELOADING=1\n");
    for _ in 0..3 {
        manager.waits_for("WATCHDOG=1");
    }
    let stuck = brake.lock().unwrap();
    manager.waits_for("STATUS=the worker does not answer");
    drop(stuck);
    manager.waits_for("WATCHDOG=1");
    drop(held);
    manager.waits_for("READY=1\n");
    asked.join().unwrap().unwrap();

    ask(ControlRequest::Shutdown).unwrap();
    manager.waits_for("STOPPING=1\n");
    assert_eq!(gateway.join().unwrap().reason, EndReason::Request);
}

#[test]
fn ports_that_are_not_up_at_the_start_are_named_until_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let manager = Manager(UnixDatagram::bind(at("notify")).unwrap());
    let patience = Duration::from_secs(60);
    manager.0.set_read_timeout(Some(patience)).unwrap();
    let text = format!(
        "[gateway]\nrealtime = false\nlock_memory = false\ncontrol = '{}'\n\
         [ports.a]\nkind = 'sticky'\n[ports.b]\nkind = 'bus'\n[[routes]]\nfrom = 'a'\nto = 'b'\n",
        at("control").display()
    );
    let switches = PortSwitches::default();
    switches.down.store(true, Relaxed);
    let kinds = PortKinds::standard().with(StickyKind(switches.clone()));
    // Without a watchdog: a status is not part of a sign of life.
    let options = RunOptions {
        service: Some(ServiceContext {
            socket: at("notify").into(),
            watchdog: None,
        }),
        ..RunOptions::default()
    };
    let (config, _) = load(&SourceText::new("t", text), &kinds).unwrap();
    let (said, heard) = channel();
    let said = Mutex::new(said);
    let gateway = std::thread::spawn(move || {
        let listener = |notice: &LoggedNotice| {
            let _ = said.lock().unwrap().send(notice.notice.clone());
        };
        run(config, &kinds, &options, &listener).unwrap()
    });
    let without = "STATUS=2 ports, 1 route; 0 frames received";
    let ready = manager.waits_for("READY=1\n");
    assert_eq!(ready, format!("READY=1\n{without}; not up: a"));
    let next = |event: &str| loop {
        let notice: Notice = heard.recv_timeout(patience).unwrap();
        if notice.event() == event {
            return notice;
        }
    };
    let notice = next("ready");
    let Notice::Ready { not_up, .. } = &notice else {
        panic!("{notice}")
    };
    assert_eq!(not_up, &["a"]);
    assert!(notice.to_string().ends_with("; not up yet: a"), "{notice}");

    switches.down.store(false, Relaxed);
    assert_eq!(manager.hears(), without);
    let ports = vec!["a".to_owned()];
    assert_eq!(next("ports_up"), Notice::PortsUp { ports });

    // Later it is news of the port alone.
    switches.down.store(true, Relaxed);
    assert_eq!(manager.hears(), format!("{without}; not up: a"));
    switches.down.store(false, Relaxed);
    assert_eq!(manager.hears(), without);
    request(&at("control"), &ControlRequest::Shutdown, patience).unwrap();
    manager.waits_for("STOPPING=1\n");
    gateway.join().unwrap();
    assert!(heard.iter().all(|notice| notice.event() != "ports_up"));
}
