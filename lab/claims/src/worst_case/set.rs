//! A message set of 40 messages, and a log of it for the timed bench.

use super::{RouteTraffic, free, message};
use experiment::{LogSide, LogTraffic};
use frame::{CanId, Frame, Nanos};

/// The number of messages.
const MESSAGES: u32 = 40;
/// One in this many messages is on the outgoing bus, without passing the gateway.
const BESIDE: u32 = 4;
/// Their periods in turn, ms: with 8 bytes each, 56 % of the bus.
const PERIODS_MS: [u64; 7] = [4, 5, 10, 10, 20, 20, 50];
/// Payload bytes.
const LEN: usize = 8;

/// A message: the side on which it is sent, its identifier and its period, ns.
struct SetMessage {
    side: LogSide,
    id: CanId,
    period: Nanos,
}

/// Returns the messages. Every fifth is EFF. The shorter the period, the higher the priority,
/// except for every third message.
fn all() -> Vec<SetMessage> {
    let one = |n: u32| {
        let place = n as usize % PERIODS_MS.len();
        // 17 and 0x80 have no common factor, so identifiers differ.
        let number = 0x80 + place as u32 * 0x100 + n * 17 % 0x80;
        let id = match n % 5 {
            // The arbitration of an SFF frame is won before that of an EFF frame with the same 11
            // bits.
            4 => CanId::eff(number << 18 | n),
            _ => CanId::sff(number),
        };
        let side = match n % BESIDE {
            3 => LogSide::Outgoing,
            _ => LogSide::Incoming,
        };
        id.ok().map(|id| SetMessage {
            side,
            id,
            period: PERIODS_MS[(place + usize::from(n.is_multiple_of(3))) % PERIODS_MS.len()]
                * 1_000_000,
        })
    };
    (0..MESSAGES).filter_map(one).collect()
}

/// Returns the set, with unknown payloads.
pub(super) fn traffic() -> Result<RouteTraffic, String> {
    let mut traffic = RouteTraffic {
        through: Vec::new(),
        beside: Vec::new(),
    };
    for one in all() {
        let message = message(free(one.id, LEN)?, one.period)?;
        match one.side {
            LogSide::Incoming => traffic.through.push(message),
            LogSide::Outgoing => traffic.beside.push(message),
        }
    }
    Ok(traffic)
}

/// Returns its frames up to a time, ns: all messages begin together, the lowest priority first.
/// Payloads have many stuff bits, or few.
pub(crate) fn played(until: Nanos) -> LogTraffic {
    let mut frames: Vec<(LogSide, Nanos, Frame)> = Vec::new();
    for one in all() {
        let releases = (0..).map(|n: u64| (n, n * one.period));
        for (n, at) in releases.take_while(|(_, at)| *at < until) {
            let byte = if n.is_multiple_of(2) { 0x3C } else { 0x55 };
            frames.extend(
                Frame::classic(one.id, &[byte; LEN])
                    .ok()
                    .map(|f| (one.side, at, f)),
            );
        }
    }
    let low_first =
        |frame: &Frame| std::cmp::Reverse(frame::wire::arbitration_key(&frame.header()));
    frames.sort_by_key(|(_, at, frame)| (*at, low_first(frame)));
    // The log has frames of 8 bytes for the incoming bus: it can be replayed.
    LogTraffic::new("set-of-40.log", frames).unwrap_or_default()
}
