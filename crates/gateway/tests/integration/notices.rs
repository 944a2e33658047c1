//! The notices of a running gateway, as its listener receives them.

use crate::common::wire::{END, Outside, WireSite, plan};
use crate::common::{all, route};
use engine::LinkState;
use frame::Nanos;
use gateway::control::{ControlRequest, request};
use gateway::notice::{LoggedNotice, Notice, NoticeLevel};
use gateway::run::RouteChanges;
use gateway::run::{
    EndReason, LoadError, PlanSource, Port, RunPlan, RunSettings, RunSummary, supervise,
};
use port::{
    FrameInterest, NullTransmitter, PollReceive, PortError, PortWait, Receive, ReceivedFrame,
    RxCounters, RxReport,
};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

type Heard = Arc<Mutex<Vec<LoggedNotice>>>;

/// Runs a site, and `meanwhile` once it is ready, until that ends it; returns its notices.
fn run<S: PlanSource + Send>(
    mut site: S,
    first: RunPlan<S::Spec>,
    until_end: &[&str],
    meanwhile: impl FnOnce(&Path),
) -> (RunSummary, Vec<LoggedNotice>)
where
    S::Spec: Send,
{
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("gate.sock");
    let options = RunSettings {
        control: Some(socket.clone()),
        until_end: until_end.iter().map(|&name| name.to_owned()).collect(),
        ..RunSettings::default()
    };
    let heard = Heard::default();
    let mine = Arc::clone(&heard);
    let summary = std::thread::scope(|scope| {
        let run = scope.spawn(move || {
            let listener = |notices: &LoggedNotice| mine.lock().unwrap().push(notices.clone());
            supervise(&mut site, first, &options, &listener).unwrap()
        });
        let is_ready = || {
            heard
                .lock()
                .unwrap()
                .iter()
                .any(|s| s.notice.event() == "ready")
        };
        while !is_ready() {
            assert!(!run.is_finished(), "the gateway ended at once");
            std::thread::yield_now();
        }
        meanwhile(&socket);
        run.join().unwrap()
    });
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (summary, heard)
}

fn events(heard: &[LoggedNotice]) -> Vec<&'static str> {
    heard.iter().map(|notices| notices.notice.event()).collect()
}

#[test]
fn a_life_is_reported_from_ready_to_the_end() {
    let routes = all(vec![route("r", &[0], &[1]), route("gone", &[1], &[0])]);
    let first = plan(&[("a", 0), ("b", 0)], routes);
    let next = Arc::new(Mutex::new(Ok(first.clone())));
    let site = WireSite {
        outside: Outside::default(),
        next: Arc::clone(&next),
        unopenable: None,
    };
    let (_, heard) = run(site, first, &[], |socket| {
        let reload = |plan: Result<RunPlan<u32>, String>| {
            *next.lock().unwrap() = plan;
            let _ = request(socket, &ControlRequest::Reload, TEST_TIMEOUT);
        };
        let changed = all(vec![route("r", &[0], &[2]), route("new", &[1], &[0])]);
        reload(Ok(plan(&[("a", 0), ("b", 7), ("c", 0)], changed)));
        reload(Err("gateway.toml:3:1: what is this?".into()));
        request(socket, &ControlRequest::Shutdown, TEST_TIMEOUT).unwrap();
    });
    assert_eq!(
        events(&heard),
        ["ready", "reloaded", "not_reloaded", "ending"]
    );
    let Notice::Ready {
        ports,
        routes,
        control,
        ..
    } = &heard[0].notice
    else {
        panic!("{heard:#?}");
    };
    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let paths: Vec<_> = routes.iter().map(|r| (&*r.name, &*r.data_path)).collect();
    assert_eq!(paths, [("r", "process"), ("gone", "process")]);
    assert!(control.as_ref().unwrap().ends_with("gate.sock"));
    let names = |all: &[&str]| -> Vec<String> { all.iter().map(|&n| n.to_owned()).collect() };
    let Notice::Reloaded {
        kept,
        opened,
        closed,
        changes,
        ..
    } = &heard[1].notice
    else {
        panic!("{heard:#?}");
    };
    assert_eq!(
        (kept, opened, closed),
        (&names(&["a"]), &names(&["b", "c"]), &names(&["b"]))
    );
    let expected = RouteChanges {
        renamed: vec![("gone".to_owned(), "new".to_owned())],
        changed: names(&["r"]),
        ..RouteChanges::default()
    };
    assert_eq!(changes, &expected);
    let Notice::NotReloaded {
        why,
        as_before: true,
    } = &heard[2].notice
    else {
        panic!("{heard:#?}");
    };
    assert!(why.contains("what is this?"), "{why}");
    assert_eq!(
        heard[3].notice,
        Notice::Ending {
            reason: EndReason::Request
        }
    );
    assert!(heard.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

/// A port whose interface changes state at every call, `left` times, and which then ends.
struct Flapping {
    left: u64,
    link: LinkState,
}

impl Receive for Flapping {
    fn receive(
        &mut self,
        _: Nanos,
        _: usize,
        _: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let news = self.left > 0;
        if news {
            self.left -= 1;
            self.link = match self.left {
                0 => LinkState::BusOff,
                n if n % 2 == 0 => LinkState::Up,
                _ => LinkState::Down,
            };
        }
        Ok(RxReport {
            more: news,
            finished: !news,
            news,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        Some(0)
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }

    fn link(&self) -> LinkState {
        self.link
    }
}

impl PollReceive for Flapping {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

struct FlappingSite(u64);

impl PlanSource for FlappingSite {
    type Spec = u32;

    fn load(&mut self) -> Result<RunPlan<u32>, LoadError> {
        Err(LoadError::NoFile)
    }

    fn open(&mut self, name: &str, _: &u32, _: &FrameInterest) -> Result<Port, PortError> {
        Ok(Port {
            name: name.to_owned(),
            rx: Box::new(Flapping {
                left: self.0,
                link: LinkState::Up,
            }),
            tx: Box::new(NullTransmitter),
        })
    }

    fn interface<'s>(&self, _: &'s u32) -> Option<&'s str> {
        Some("can7")
    }
}

#[test]
fn a_link_that_flaps_floods_no_other_and_its_last_state_is_reported() {
    const FLAPS: u64 = 20_000;
    let first = plan(&[("a", 0)], all(vec![]));
    let (_, heard) = run(FlappingSite(FLAPS), first, &["a"], |_| ());
    let links: Vec<&LoggedNotice> = heard
        .iter()
        .filter(|s| s.notice.event() == "link")
        .collect();
    // A few at once, one for each second of the run, and the last.
    assert!((2..200).contains(&links.len()), "{} were told", links.len());
    let Notice::Link {
        port,
        interface,
        now,
        ..
    } = &links.last().unwrap().notice
    else {
        panic!("{links:#?}");
    };
    assert_eq!((&**port, interface.as_deref()), ("a", Some("can7")));
    assert_eq!(*now, LinkState::BusOff);
    assert!(links.iter().map(|notices| notices.more).sum::<u64>() > 0);
}

#[test]
fn a_port_that_fails_is_reported_once_with_its_reason() {
    let first = plan(&[("a", 0), ("b", 0)], all(vec![route("r", &[0], &[1])]));
    let outside = Outside::default();
    let site = WireSite {
        outside: outside.clone(),
        next: Arc::new(Mutex::new(Ok(first.clone()))),
        unopenable: None,
    };
    outside.end("b").shutdown(std::net::Shutdown::Both).unwrap();
    let (_, heard) = run(site, first, &["a"], |_| {
        for n in 0..10_u64 {
            outside.end("a").send(&n.to_be_bytes()).unwrap();
        }
        outside.end("a").send(&END.to_be_bytes()).unwrap();
    });
    assert_eq!(events(&heard), ["ready", "port_failed", "ending"]);
    let failed = &heard[1].notice;
    assert_eq!((failed.about(), failed.level()), ("b", NoticeLevel::Error));
    let words = failed.to_string();
    assert!(words.contains("the other end is gone"), "{words}");
}
