//! The change from one routing table and set of ports to the next. Scenarios as in `fates.rs`.

use crate::common::{all, engine, memory_port, reopen, route};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use engine::{Engine, InterestIds, LayoutChange, PortChange};
use route::{PortId, RoutingTable};

const PORTS: usize = 4;

/// Every port stays as it is.
fn keep_all() -> Vec<PortChange> {
    let keep = |i| PortChange::Keep(format!("p{i}"));
    (0..PORTS).map(keep).collect()
}

scenarios! {
    /// A change that was made for a layout that no longer runs is given back unused.
    fn an_outdated_change_is_refused() {
        let routes = all(vec![route("r", &[0], &[1])]);
        let (mut engine, _) = engine(PORTS, &routes);
        let table = Arc::new(RoutingTable::compile(&routes, PORTS).unwrap());
        let change = |engine: &Engine| {
            LayoutChange::new(engine.layout(), keep_all(), Arc::clone(&table), &routes).unwrap()
        };
        let (one, two) = (change(&engine), change(&engine));
        assert!(engine.apply(one).is_ok());
        assert!(engine.apply(two).is_err());
        assert_eq!(engine.snapshot().reloads, 1);
    }

    /// After a reload, ports get the set of frames that are of use.
    fn a_reload_reports_ports_their_interest() {
        let mut routes = all(vec![route("r", &[0], &[1])]);
        let (mut engine, handles) = engine(PORTS, &routes);
        routes.routes[0].from = vec![PortId(2)];
        let table = Arc::new(RoutingTable::compile(&routes, PORTS).unwrap());
        let ports = keep_all();
        let change = LayoutChange::new(engine.layout(), ports, table, &routes).unwrap();
        assert!(engine.apply(change).is_ok());
        let interest = |i: usize| handles[i].inside().interest.clone().unwrap().ids;
        assert_eq!(interest(0), InterestIds::Nothing);
        assert_eq!(interest(2), InterestIds::Everything);
    }

    /// The halves of a removed port are dropped when it is closed, not before.
    fn a_removed_port_is_closed_by_the_caller() {
        let routes = all(vec![route("r", &[0], &[1])]);
        let (mut engine, handles) = engine(PORTS, &routes);
        let table = Arc::new(RoutingTable::compile(&routes, PORTS).unwrap());
        let mut ports = keep_all();
        ports[3] = PortChange::New(reopen("p3", &handles[3]));
        let change = LayoutChange::new(engine.layout(), ports, table, &routes).unwrap();
        let removed = engine.apply(change).map_err(|(e, _)| e).unwrap();
        assert_eq!(handles[3].inside().closed, 0);
        for port in removed.leaving {
            assert_eq!(port.name(), "p3");
            let _ = port.close();
        }
        assert_eq!(handles[3].inside().closed, 2);
    }

    /// Frames that a removed port still holds are sent or lost, and are counted where its counters
    /// continue.
    fn what_a_replaced_port_held_is_booked_with_its_successor() {
        let routes = all(vec![route("r", &[0], &[3])]);
        let (mut engine, handles) = engine(PORTS, &routes);
        handles[3].inside().room = 0;
        handles[0].feed(0..5);
        engine.step(0);
        let table = Arc::new(RoutingTable::compile(&routes, PORTS).unwrap());
        let mut ports = keep_all();
        let (fresh, _successor) = memory_port("p3");
        ports[3] = PortChange::New(fresh);
        let change = LayoutChange::new(engine.layout(), ports, table, &routes).unwrap();
        let removed = engine.apply(change).map_err(|(e, _)| e).unwrap();
        handles[3].inside().room = 2;
        for mut port in removed.leaving {
            assert_eq!(port.flush(1).unwrap(), 3);
            let name = port.name().to_owned();
            engine.settle(&name, port.close());
        }
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let tx = snapshot.port("p3").unwrap().tx;
        assert_eq!((tx.taken, tx.sent, tx.lost, tx.held), (5, 2, 3, 0));
    }

    /// A removed port that fails returns an error from its flush, and holds nothing any more.
    fn a_removed_port_that_fails_is_reported() {
        let routes = all(vec![route("r", &[0], &[3])]);
        let (mut engine, handles) = engine(PORTS, &routes);
        handles[3].inside().room = 0;
        handles[0].feed(0..2);
        engine.step(0);
        let table = Arc::new(RoutingTable::compile(&routes, PORTS).unwrap());
        let mut ports = keep_all();
        ports[3] = PortChange::New(memory_port("p3").0);
        let change = LayoutChange::new(engine.layout(), ports, table, &routes).unwrap();
        let mut removed = engine.apply(change).map_err(|(e, _)| e).unwrap();
        handles[3].inside().flush_fails = true;
        let mut port = removed.leaving.pop().unwrap();
        assert_eq!(port.flush(1).unwrap_err().what, "the driver is gone");
        assert_eq!(port.flush(2).unwrap(), 0);
        engine.settle("p3", port.close());
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(snapshot.port("p3").unwrap().tx.lost, 2);
    }
}
