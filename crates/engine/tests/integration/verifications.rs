//! Results of end-to-end checks: counted for each route that checks, also over reloads.

use crate::common::{all, engine, route};
use e2e::{MakeName, ReceptionKind, SumCommon};
use engine::{Engine, LayoutChange, PortChange};
use frame::CanId;
use route::{Route, RouteVerification, Routes, RoutingTable, WrongFrames};
use std::sync::Arc;

/// Returns a route that checks frames whose checksum is wrong.
fn checking(name: &str, from: u16) -> Route {
    let mut checking = route(name, &[from], &[3]);
    let toyota = MakeName::Toyota
        .to_settings(CanId::from_raw(0), None, SumCommon::default())
        .unwrap();
    checking.verify = Some(RouteVerification {
        name: "toyota".into(),
        settings: toyota,
        max_delta: 1,
        on_wrong: WrongFrames::Drop,
    });
    checking
}

fn reload(engine: &mut Engine, routes: &Routes) {
    let table = Arc::new(RoutingTable::compile(routes, 4).unwrap());
    let keep = |i| PortChange::Keep(format!("p{i}"));
    let ports = (0..4).map(keep).collect();
    let change = LayoutChange::new(engine.layout(), ports, table, routes).unwrap();
    assert!(engine.apply(change).is_ok());
}

#[test]
fn results_belong_to_their_routes_and_outlive_them() {
    let plain = || route("plain", &[2], &[3]);
    let (mut engine, ports) = engine(4, &all(vec![plain(), checking("a", 0), checking("b", 1)]));
    ports[0].feed(0..3);
    ports[1].feed(0..5);
    ports[2].feed(0..7);
    engine.step(1);
    let wrong = |engine: &Engine| -> Vec<(String, u64)> {
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let rows = snapshot.routes.iter();
        let each = rows.map(|row| (row.name.clone(), row.e2e.get(ReceptionKind::WrongChecksum)));
        let retired = snapshot.retired_verifications;
        let retired = retired.get(ReceptionKind::WrongChecksum);
        each.chain([("retired".to_owned(), retired)]).collect()
    };
    let is = |engine: &Engine, expected: &[(&str, u64)]| {
        let expected: Vec<_> = expected
            .iter()
            .map(|&(name, n)| (name.to_owned(), n))
            .collect();
        assert_eq!(wrong(engine), expected);
    };
    is(&engine, &[("plain", 0), ("a", 3), ("b", 5), ("retired", 0)]);

    // In another order.
    reload(
        &mut engine,
        &all(vec![checking("b", 1), plain(), checking("a", 0)]),
    );
    ports[0].feed(0..1);
    engine.step(2);
    is(&engine, &[("b", 5), ("plain", 0), ("a", 4), ("retired", 0)]);

    // One route is removed, the other one checks no longer.
    let mut unchecked = checking("a", 0);
    unchecked.verify = None;
    reload(&mut engine, &all(vec![unchecked, plain()]));
    is(&engine, &[("a", 0), ("plain", 0), ("retired", 9)]);
}
