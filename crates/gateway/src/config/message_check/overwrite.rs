//! Actions that overwrite what an earlier action of the same route wrote.

use super::RouteReport;
use route::{Action, ModifyOp, Route};
use signals::{FieldSource, FieldWrite, write_fields};

/// The bytes of the payloads in which writes are compared: those of CAN FD.
const LEN: usize = frame::dlc::FD_MAX;

/// Bits of each byte of a payload.
type PayloadBits = [u8; LEN];

/// Warns of a signal that an action writes and a later one overwrites. A signal over a payload that
/// was set before is usual, and so are bits that are cleared before others set them.
pub(super) fn check(number: usize, route: &Route, report: &mut RouteReport<'_>) {
    let mut written: Vec<(usize, PayloadBits)> = Vec::new();
    for (at, action) in (1..).zip(&route.actions) {
        let bits = overwritten(action);
        let shared = |(_, earlier): &&(usize, PayloadBits)| {
            earlier.iter().zip(&bits).any(|(a, b)| a & b != 0)
        };
        if let Some((earlier, before)) = written.iter().find(shared) {
            let byte = before.iter().zip(&bits).position(|(a, b)| a & b != 0);
            let message = format!(
                "route `{}`: action {at} of `do` overwrites bits of byte {} that action {earlier} writes as part of a \
                 signal",
                route.name,
                byte.unwrap_or(0)
            );
            let hint = "leave one of them out, or change their order: the last one wins";
            report.warn(number, message, hint);
        }
        if matches!(action, Action::WriteSignals(_)) {
            written.push((at, bits));
        }
    }
}

/// Returns the bits that an action replaces, whatever they were.
fn overwritten(action: &Action) -> PayloadBits {
    let mut bits = [0; LEN];
    match action {
        Action::WriteSignals(signals) => {
            for write in &signals.writes {
                let all = FieldWrite {
                    to: write.to,
                    source: FieldSource::Constant(write.to.mask()),
                };
                // A signal behind these bytes is not compared.
                let _ = write_fields(&[all], &mut bits);
            }
        }
        Action::Modify(modify) if modify.op == ModifyOp::Set => {
            let count = modify.data.as_ref().map_or(0, Vec::len);
            bits.iter_mut().take(count).for_each(|byte| *byte = 0xFF);
        }
        Action::CopyBytes(copy) => {
            let to = bits.iter_mut().skip(usize::from(copy.to));
            to.take(usize::from(copy.count))
                .for_each(|byte| *byte = 0xFF);
        }
        _ => {}
    }
    bits
}
