//! The counters of gateway and kernel, parsed from their output.

use crate::under_test::{INCOMING, OUTGOING};
use serde::{Deserialize, Serialize};

/// Counters that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CountsError {
    /// The gateway's answer is not JSON of the expected form.
    #[error("the gateway's counters cannot be read")]
    Gateway(#[source] serde_json::Error),
    /// The gateway refused to answer.
    #[error("the gateway did not report its counters: {0}")]
    Refused(String),
    /// A counter is missing.
    #[error("the gateway's counters lack {0}")]
    Lack(&'static str),
    /// The output of tc for an interface's queue is not JSON of the expected form.
    #[error("the output of tc for the queue of {0} cannot be read")]
    Queue(&'static str, #[source] serde_json::Error),
    /// The routes are not in the expected place.
    #[error("the gateway has no routes in the kernel")]
    NotInKernel,
}

/// The counts of gateway and kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GatewayCounts {
    /// Frames that the driver of the incoming interface received.
    pub(super) received: u64,
    /// Frames that it reports as lost.
    pub(super) receive_errors: u64,
    /// Frames that the driver of the outgoing interface sent.
    pub(super) sent: u64,
    /// Packets of any kind that found the processor's backlog full.
    pub(super) backlog: u64,
    /// Frames that rules queued (can-gw), or that were taken from a port (user space) or by a
    /// route (BPF); with hops, once for each pass.
    pub(super) handled: u64,
    /// Frames that could not be queued: the transmit queue was full.
    pub(super) dropped: u64,
    /// Frames that found the gateway's socket full.
    pub(super) overrun: u64,
}

impl GatewayCounts {
    /// Returns the counts since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let minus = |a: u64, b: u64| a.saturating_sub(b);
        Self {
            received: minus(self.received, before.received),
            receive_errors: minus(self.receive_errors, before.receive_errors),
            sent: minus(self.sent, before.sent),
            backlog: minus(self.backlog, before.backlog),
            handled: minus(self.handled, before.handled),
            dropped: minus(self.dropped, before.dropped),
            overrun: minus(self.overrun, before.overrun),
        }
    }

    /// Reads `/proc/net/dev`.
    pub(super) fn interfaces(&mut self, text: &str) {
        for line in text.lines() {
            let Some((name, numbers)) = line.split_once(':') else {
                continue;
            };
            let numbers: Vec<u64> = numbers
                .split_whitespace()
                .filter_map(|n| n.parse().ok())
                .collect();
            // Eight of receiving (bytes, packets, errors, …), eight of sending.
            let at = |n: usize| numbers.get(n).copied().unwrap_or(0);
            if name.trim() == INCOMING {
                self.received = at(1);
                self.receive_errors = at(2);
            } else if name.trim() == OUTGOING {
                self.sent = at(9);
            }
        }
    }

    /// Reads `/dev/bitcan`: the counts of mapped controllers. Frames lost by a FIFO are known from
    /// the tester's stamps, and the gateway's own count of them is left out.
    pub(super) fn controllers(&mut self, text: &str) {
        self.overrun = 0;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let name = words.next();
            for word in words {
                let Some((key, Ok(number))) = word.split_once('=').map(|(k, n)| (k, n.parse()))
                else {
                    continue;
                };
                match (name, key) {
                    (Some(INCOMING), "received") => self.received = number,
                    (Some(INCOMING), "overrun") => self.receive_errors = number,
                    (Some(OUTGOING), "sent") => self.sent = number,
                    _ => {}
                }
            }
        }
    }

    /// Reads `/proc/net/softnet_stat`: hexadecimal, the second number of a processor's line.
    pub(super) fn backlog(&mut self, text: &str) {
        let second = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
        self.backlog = text.lines().filter_map(second).sum();
    }

    /// Reads `cangw -L`: each rule's line ends with `# N handled N dropped N deleted`. Returns the
    /// number of rules.
    pub(super) fn rules(&mut self, text: &str) -> usize {
        let mut rules = 0;
        for line in text.lines().filter(|l| l.starts_with("cangw ")) {
            rules += 1;
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2) {
                if let [number, word] = pair
                    && let Ok(number) = number.parse::<u64>()
                {
                    match *word {
                        "handled" => self.handled += number,
                        "dropped" | "deleted" => self.dropped += number,
                        _ => {}
                    }
                }
            }
        }
        rules
    }

    /// Reads `cangate stats --json`.
    pub(super) fn stats(&mut self, text: &str) -> Result<(), CountsError> {
        let json: serde_json::Value = serde_json::from_str(text).map_err(CountsError::Gateway)?;
        let number = |value: &serde_json::Value, what| {
            let number = value.as_u64();
            number.ok_or(CountsError::Lack(what))
        };
        self.handled = 0;
        for port in json["ports"].as_array().ok_or(CountsError::Lack("ports"))? {
            // With hops, frames that come out of a virtual interface are taken once more.
            self.handled += number(&port["received"], "the received frames")?;
            self.overrun += number(&port["rx"]["overrun"], "overruns")?;
            self.dropped += number(&port["fates"]["refused"], "refused frames")?;
        }
        Ok(())
    }

    /// Reads the counts of an image without an operating system: like [`GatewayCounts::stats`], but
    /// its ports are the controllers.
    pub(super) fn image(&mut self, text: &str) -> Result<(), CountsError> {
        self.stats(text)?;
        let json: serde_json::Value = serde_json::from_str(text).map_err(CountsError::Gateway)?;
        // Frames lost by a FIFO are known from the tester's stamps.
        self.overrun = 0;
        for port in json["ports"].as_array().into_iter().flatten() {
            let number = |value: &serde_json::Value| value.as_u64();
            match port["name"].as_str() {
                Some(INCOMING) => {
                    let received = number(&port["received"]);
                    self.received = received.ok_or(CountsError::Lack("the received frames"))?;
                }
                Some(OUTGOING) => {
                    let sent = number(&port["tx"]["sent"]);
                    self.sent = sent.ok_or(CountsError::Lack("the sent frames"))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads `tc -s -j qdisc show` of the outgoing interface: BPF passes a frame to its queue and
    /// is not informed whether there was room.
    pub(super) fn queue(&mut self, text: &str) -> Result<(), CountsError> {
        #[derive(serde::Deserialize)]
        struct QueueCounts {
            #[serde(default)]
            root: bool,
            #[serde(default)]
            drops: u64,
        }
        let queues: Vec<QueueCounts> =
            serde_json::from_str(text).map_err(|source| CountsError::Queue(OUTGOING, source))?;
        let root = queues.iter().filter(|q| q.root);
        self.dropped += root.map(|q| q.drops).sum::<u64>();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read() {
        let mut counts = GatewayCounts::default();
        counts.interfaces(
            "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
             lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n   \
             gw0:    2000     500    3    0    0     3          0         0        8       1    0    0    0     0       0          0\n   \
             gw1:       0       2    0    0    0     0          0         0     2000     497    0    0    0     0       0          0\n",
        );
        counts.backlog("00000a00 00000010 00000000\n");
        let mut mapped = GatewayCounts {
            overrun: 3,
            ..GatewayCounts::default()
        };
        mapped.controllers(
            "can7 bus=0 model=mscan\n\
             gw0 bus=0 model=mapped received=97 overrun=3 unread=0 sent=5 failed=0 cut=0 pending=0\n\
             gw1 bus=1 model=mapped received=1 overrun=0 unread=0 sent=96 failed=0 cut=0 pending=1\n",
        );
        let expected = (97, 3, 96, 0);
        let read = (
            mapped.received,
            mapped.receive_errors,
            mapped.sent,
            mapped.overrun,
        );
        assert_eq!(read, expected);
        let rules = counts.rules(
            "cangw -A -s gw0 -d gw1 -f 001:7FF # 400 handled 2 dropped 1 deleted\n\
             cangw -A -s gw0 -d gw1 -f 002:7FF # 10 handled 0 dropped 0 deleted\n",
        );
        assert_eq!(rules, 2);
        let expected = GatewayCounts {
            received: 500,
            receive_errors: 3,
            sent: 497,
            backlog: 16,
            handled: 410,
            dropped: 3,
            overrun: 0,
        };
        assert_eq!(counts, expected);
        let json = r#"{"ports":[{"name":"gw1","received":0,"rx":{"overrun":0},"fates":{"refused":0}},
            {"name":"gw0","received":7,"rx":{"overrun":2},"fates":{"refused":1}}]}"#;
        let mut counts = GatewayCounts::default();
        counts.stats(json).unwrap();
        assert_eq!((counts.handled, counts.overrun, counts.dropped), (7, 2, 1));
        assert!(counts.stats("{}").is_err());
    }
}
