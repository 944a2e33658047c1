//! The agent's orders on the kernel's command line, one word each.

use super::error::AgentError;
use crate::devices::LinkedCards;
use crate::linked::LinkedMachine;
use crate::machine::{BenchKind, BitcanController, GuestSpec, TimeMode};
use std::fs;
use std::path::Path;

/// How the machine stops when the bench is up, so that the host can save it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseOrder {
    /// At the same instruction in each run: machines in virtual time.
    Exact,
    /// At any time. The machine that goes on sets its clock: machines that follow the host's time.
    AnyTime,
}

impl PauseOrder {
    const WORDS: [(Self, &'static str); 2] = [(Self::Exact, "1"), (Self::AnyTime, "any-time")];

    /// Returns how a machine with this clock stops. `None` if it cannot be saved: an experiment in
    /// real time would notice.
    pub(crate) fn for_time(time: TimeMode) -> Option<Self> {
        match time {
            TimeMode::Virtual { .. } => Some(Self::Exact),
            TimeMode::Fast { .. } => Some(Self::AnyTime),
            TimeMode::Real => None,
        }
    }
}

/// The configuration of the bench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BenchOrders {
    pub(crate) bench: BenchKind,
    pub(crate) controller: BitcanController,
    /// The bit rate, bit/s.
    pub(crate) bitrate: u32,
    /// The data bit rate, bit/s.
    pub(crate) data_bitrate: Option<u32>,
    pub(crate) ethernet: bool,
    /// The cards on links between machines, for such a machine.
    pub(crate) linked: Option<LinkedCards>,
    /// `None`: the machine does not stop.
    pub(crate) pause: Option<PauseOrder>,
    /// Milliseconds that it waits longer before it stops ([`settle_word`]).
    pub(crate) settle: u16,
}

/// Returns the order to wait this number of milliseconds longer before the machine stops.
pub(crate) fn settle_word(ms: u16) -> String {
    format!("cangate.settle={ms}")
}

impl BenchOrders {
    /// Returns the orders that a guest needs.
    pub(crate) fn from_spec(spec: &GuestSpec, pause: Option<PauseOrder>) -> Self {
        Self {
            bench: spec.bench,
            controller: spec.controller,
            bitrate: spec.bitrate,
            data_bitrate: spec.data_bitrate,
            ethernet: spec.ethernet,
            linked: spec.linked.as_ref().map(LinkedMachine::cards),
            pause,
            settle: 0,
        }
    }

    /// Returns the orders as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut all = vec![
            // Words without a dot become the agent's environment.
            "PATH=/lab:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            "HOME=/root".to_owned(),
            // Whichever C library is in the image, this is the folder of it and of all other
            // libraries.
            "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu".to_owned(),
            format!("cangate.bench={}", self.bench),
            format!("cangate.controller={}", self.controller.name()),
            format!("cangate.bitrate={}", self.bitrate),
        ];
        if let Some(rate) = self.data_bitrate {
            all.push(format!("cangate.dbitrate={rate}"));
        }
        if self.ethernet {
            all.push("cangate.ethernet=1".to_owned());
        }
        if let Some(LinkedCards {
            classic,
            fd,
            ethernet,
        }) = self.linked
        {
            all.push(format!("cangate.linked={classic}:{fd}:{ethernet}"));
        }
        let pause = PauseOrder::WORDS
            .iter()
            .find(|(order, _)| Some(*order) == self.pause);
        all.extend(pause.map(|(_, word)| format!("cangate.pause={word}")));
        all.extend((self.settle > 0).then(|| settle_word(self.settle)));
        all
    }

    /// Reads the orders of this guest.
    pub(super) fn read() -> Result<Self, AgentError> {
        let path = Path::new("/proc/cmdline");
        let line = fs::read_to_string(path).map_err(AgentError::file("read", path))?;
        Self::parse(&line)
    }

    fn parse(line: &str) -> Result<Self, AgentError> {
        let word = |name: &str| {
            line.split_whitespace().find_map(|word| {
                word.strip_prefix("cangate.")?
                    .strip_prefix(name)?
                    .strip_prefix('=')
            })
        };
        let need = |name: &'static str| word(name).ok_or(AgentError::NoOrder(name));
        let wrong = |name, value: &str| AgentError::Order {
            name,
            value: value.to_owned(),
        };
        let number = |name, text: &str| text.parse().map_err(|_| wrong(name, text));
        let (bench, controller) = (need("bench")?, need("controller")?);
        let cards = |text: &str| {
            let mut numbers = text.split(':').map(|number| number.parse().ok());
            let cards = LinkedCards {
                classic: numbers.next()??,
                fd: numbers.next()??,
                ethernet: numbers.next()??,
            };
            numbers.next().is_none().then_some(cards)
        };
        let is = |c: &BitcanController| c.name() == controller;
        Ok(Self {
            bench: bench.parse().map_err(|_| wrong("bench", bench))?,
            controller: BitcanController::ALL
                .into_iter()
                .find(is)
                .ok_or_else(|| wrong("controller", controller))?,
            bitrate: number("bitrate", need("bitrate")?)?,
            data_bitrate: word("dbitrate")
                .map(|text| number("dbitrate", text))
                .transpose()?,
            ethernet: word("ethernet").is_some(),
            linked: word("linked")
                .map(|text| cards(text).ok_or_else(|| wrong("linked", text)))
                .transpose()?,
            pause: match word("pause") {
                None => None,
                Some(text) => {
                    let known = PauseOrder::WORDS.iter().find(|(_, word)| *word == text);
                    let (order, _) = known.ok_or_else(|| wrong("pause", text))?;
                    Some(*order)
                }
            },
            settle: word("settle").map_or(Ok(0), |text| {
                text.parse().map_err(|_| wrong("settle", text))
            })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ordered_is_what_is_read() {
        for bench in BenchKind::ALL {
            for (data_bitrate, ethernet, pause, settle) in [
                (None, true, Some(PauseOrder::Exact), 0),
                (None, true, Some(PauseOrder::Exact), 3),
                (None, false, Some(PauseOrder::AnyTime), 0),
                (Some(4_000_000), false, None, 0),
            ] {
                let orders = BenchOrders {
                    bench,
                    controller: BitcanController::Mscan,
                    bitrate: 500_000,
                    data_bitrate,
                    ethernet,
                    linked: ethernet.then_some(LinkedCards {
                        classic: 2,
                        fd: 3,
                        ethernet: 1,
                    }),
                    pause,
                    settle,
                };
                let line = format!("console=ttyS0 {} -- lab agent\n", orders.words().join(" "));
                assert_eq!(BenchOrders::parse(&line).unwrap(), orders);
            }
        }
        assert!(BenchOrders::parse("cangate.bench=x").is_err());
        assert!(BenchOrders::parse("").is_err());
        // The host adds the order to those of a machine whose tries failed.
        let words =
            "cangate.bench=vcan cangate.controller=mscan cangate.bitrate=500000 cangate.pause=1";
        let orders = BenchOrders::parse(&format!("{words} {}", settle_word(2))).unwrap();
        assert_eq!((orders.pause, orders.settle), (Some(PauseOrder::Exact), 2));
        for wrong in ["settle=long", "linked=1", "linked=1:2", "linked=1:2:3:4"] {
            assert!(BenchOrders::parse(&format!("{words} cangate.{wrong}")).is_err());
        }
    }
}
