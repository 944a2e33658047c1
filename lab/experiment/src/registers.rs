//! The number of register accesses in a frame's latency (kvaser bench).
//!
//! Virtual time charges an access one instruction. On a bus of peripherals it costs 100 ns to 1 µs,
//! so the count is reported together with the latency.

use guest::machine::RegisterAccess;
use probe::{FrameRecord, Status};

/// The command register of an SJA1000 in PeliCAN mode.
const COMMAND: u8 = 1;
/// Its command that releases the receive buffer: a frame was read out. The driver takes the stamp
/// next (`sja1000_rx` of drivers/net/can/sja1000/sja1000.c).
const RELEASE: u8 = 0x04;
/// The tester's card that stamps frames that go into the gateway.
const REFERENCE: u8 = 1;
/// The tester's card that stamps frames that come out.
const RECEIVER: u8 = 2;

fn releases(accesses: &[RegisterAccess], card: u8) -> Vec<usize> {
    let is = |a: &RegisterAccess| {
        a.card == card && a.register == COMMAND && a.write && a.value & RELEASE != 0
    };
    let all = accesses.iter().enumerate().filter(|(_, a)| is(a));
    all.map(|(at, _)| at).collect()
}

/// Adds to each record the number of accesses, of all cards, between its two stamps. This is done
/// only where it is certain: where every frame was delivered once and in order. The frames of the
/// records are the last of the recording; those before them warmed up the gateway.
pub fn count(records: &mut [FrameRecord], accesses: &[RegisterAccess]) {
    let certain = records.iter().all(|r| r.status == Status::Delivered)
        && records.is_sorted_by_key(|r| r.incoming.map(|f| f.end))
        && records.is_sorted_by_key(|r| r.outgoing.map(|f| f.end));
    let (into, out) = (releases(accesses, REFERENCE), releases(accesses, RECEIVER));
    if !certain || into.len() != out.len() || into.len() < records.len() {
        return;
    }
    let skip = into.len() - records.len();
    let pairs = into.iter().zip(&out).skip(skip);
    for (record, (from, to)) in records.iter_mut().zip(pairs) {
        record.accesses = to.checked_sub(*from).and_then(|n| u32::try_from(n).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    fn access(card: u8, register: u8, write: bool, value: u8) -> RegisterAccess {
        RegisterAccess {
            card,
            register,
            write,
            value,
        }
    }

    /// `n` frames, the nth with n further reads of a gateway's card.
    fn recording(n: usize) -> Vec<RegisterAccess> {
        let mut all = vec![access(3, 0, true, 1)];
        for i in 0..n {
            all.push(access(1, 16, false, 0));
            all.push(access(1, COMMAND, true, RELEASE));
            all.extend((0..i).map(|_| access(3, 16, false, 0)));
            // A transmission is another command.
            all.push(access(4, COMMAND, true, 1));
            all.push(access(2, COMMAND, true, RELEASE));
        }
        all
    }

    #[test]
    fn accesses_between_the_stamps_are_counted() {
        let mut records = fake::records(3, 1000);
        // Two frames to warm up.
        count(&mut records, &recording(5));
        let counts: Vec<_> = records.iter().map(|r| r.accesses).collect();
        assert_eq!(counts, [Some(4), Some(5), Some(6)]);
    }

    #[test]
    fn where_it_is_not_certain_nothing_is_reported() {
        for (mut records, recording) in [
            (fake::records(3, 1000), recording(2)),
            (fake::records(3, 1000), recording(5)[..20].to_vec()),
            (fake::records(3, 1000), vec![]),
        ] {
            count(&mut records, &recording);
            assert!(records.iter().all(|r| r.accesses.is_none()));
        }
        let mut records = fake::records(3, 1000);
        records[1].status = Status::Lost;
        count(&mut records, &recording(3));
        assert!(records.iter().all(|r| r.accesses.is_none()));
    }
}
