//! The lab's words for ways to receive and to transmit are those of gateway files.

use port::socketcan::{ReceiveBy, TransmitBy};
use std::collections::BTreeSet;

#[test]
fn the_lab_has_every_way_of_a_port_by_the_same_word() {
    let lab: BTreeSet<_> = experiment::ReceiveChoice::ALL
        .iter()
        .map(|way| way.key())
        .collect();
    let port: BTreeSet<_> = ReceiveBy::ALL.map(|(word, _)| word).into();
    assert_eq!(lab, port);
    let lab: BTreeSet<_> = experiment::TransmitChoice::ALL
        .iter()
        .map(|way| way.key())
        .collect();
    let port: BTreeSet<_> = TransmitBy::ALL.map(|(word, _)| word).into();
    assert_eq!(lab, port);
}
