//! Every frame accounted for: what the tester saw against what the gateway counted.

use crate::experiment::{Experiment, Gateway, Load};
use crate::gateway::{INCOMING, OUTGOING};
use crate::machine::Bench;
use probe::Status;
use tester::Outcome;

/// What gateway and kernel counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Frames that the driver of the incoming interface received.
    pub(super) received: u64,
    /// What it says it lost.
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

impl Counts {
    /// What came since.
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

    /// Reads `/proc/net/softnet_stat`: hexadecimal, the second number of a processor's line.
    pub(super) fn backlog(&mut self, text: &str) {
        let second = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
        self.backlog = text.lines().filter_map(second).sum();
    }

    /// Reads `cangw -L`: each rule's line ends with `# N handled N dropped N deleted`. Gives the
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
    pub(super) fn stats(&mut self, text: &str) -> Result<(), String> {
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|e| format!("the gateway's counters: {e}"))?;
        let number = |value: &serde_json::Value, what: &str| {
            let number = value.as_u64();
            number.ok_or_else(|| format!("the gateway's counters of {INCOMING} lack {what}"))
        };
        self.handled = 0;
        for port in json["ports"]
            .as_array()
            .ok_or("the gateway counts no ports")?
        {
            // With hops, what comes out of a virtual interface is taken once more.
            self.handled += number(&port["received"], "what was received")?;
            self.overrun += number(&port["rx"]["overrun"], "overruns")?;
            self.dropped += number(&port["fates"]["refused"], "refused frames")?;
        }
        Ok(())
    }

    /// Reads what a gateway answers whose routes are rules of can-gw. Gives the number of routes.
    pub(super) fn kernel_rules(&mut self, text: &[u8]) -> Result<usize, String> {
        let routes = in_kernel(text)?;
        for route in &routes {
            self.handled += route.sent;
            self.dropped += route.failed + route.stopped();
        }
        Ok(routes.len())
    }

    /// Reads what a gateway answers whose routes are in BPF. Gives the number of routes.
    pub(super) fn kernel_program(&mut self, text: &[u8]) -> Result<usize, String> {
        let routes = in_kernel(text)?;
        for route in &routes {
            let taken = route.taken;
            self.handled += taken.ok_or("the gateway does not say how many frames it took")?;
            self.dropped += route.failed + route.stopped();
        }
        Ok(routes.len())
    }

    /// Reads `tc -s -j qdisc show` of the outgoing interface: BPF hands a frame to its queue and
    /// does not learn whether there was room.
    pub(super) fn queue(&mut self, text: &str) -> Result<(), String> {
        #[derive(serde::Deserialize)]
        struct Queue {
            #[serde(default)]
            root: bool,
            #[serde(default)]
            drops: u64,
        }
        let queues: Vec<Queue> = serde_json::from_str(text)
            .map_err(|e| format!("what tc says of {OUTGOING}'s queue: {e}"))?;
        let root = queues.iter().filter(|q| q.root);
        self.dropped += root.map(|q| q.drops).sum::<u64>();
        Ok(())
    }
}

/// What matters of a route in the kernel.
#[derive(serde::Deserialize)]
struct InKernel {
    taken: Option<u64>,
    sent: u64,
    dropped_by_rule: u64,
    rate_limited: u64,
    hop_limit: u64,
    too_long: u64,
    id_range: u64,
    failed: u64,
}

impl InKernel {
    /// Frames that the route ended; none does on purpose.
    fn stopped(&self) -> u64 {
        self.dropped_by_rule + self.rate_limited + self.hop_limit + self.too_long + self.id_range
    }
}

/// The routes in the kernel, as a gateway's answer has them.
fn in_kernel(text: &[u8]) -> Result<Vec<InKernel>, String> {
    #[derive(serde::Deserialize)]
    struct Reply {
        ok: Option<Stats>,
        error: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct Stats {
        #[serde(default)]
        kernel: Vec<Part>,
    }
    #[derive(serde::Deserialize)]
    struct Part {
        routes: Vec<InKernel>,
    }
    let reply: Reply =
        serde_json::from_slice(text).map_err(|e| format!("the gateway's counters: {e}"))?;
    let words = || reply.error.unwrap_or_else(|| "no answer".to_owned());
    let stats = reply.ok.ok_or_else(words)?;
    if stats.kernel.is_empty() {
        return Err("the gateway has nothing in the kernel".to_owned());
    }
    Ok(stats.kernel.into_iter().flat_map(|p| p.routes).collect())
}

/// Holds what the tester saw against what was counted; gives where frames were lost, for the
/// results.
///
/// # Errors
/// Which counts do not agree.
pub(super) fn check(
    experiment: &Experiment,
    outcome: &Outcome,
    counts: &Counts,
) -> Result<Vec<(String, String)>, String> {
    let records = &outcome.results.records;
    // A frame that is given up has no outgoing stamp, whether it still came or not.
    let in_time = records.iter().filter(|r| r.outgoing.is_some()).count() as u64;
    let late = late(experiment, outcome.counts.late, counts.sent, in_time);
    let seen = Seen {
        went_in: records.iter().filter(|r| r.incoming.is_some()).count() as u64,
        came_out: in_time + late,
        late,
        lost: records.iter().filter(|r| r.status == Status::Lost).count() as u64,
        fifo: outcome.overruns.unwrap_or(0),
    };
    if experiment.gateway == Gateway::None || experiment.stamp_every > 1 {
        return Ok(vec![]);
    }
    agree(experiment, &seen, counts)?;
    let mut found = Vec::new();
    for (what, number) in [
        ("lost in the receive FIFO", seen.fifo),
        ("lost in the processor's backlog", counts.backlog),
        ("lost in the gateway's socket", counts.overrun),
        ("lost at the transmit queue", counts.dropped),
        ("lost because later than 1 s", seen.late),
    ] {
        if number > 0 {
            found.push((what.to_owned(), number.to_string()));
        }
    }
    Ok(found)
}

/// How many frames came out after they were given up: those that the tester saw, and those that
/// lay behind a load for so long that the tester had ended. The latter only where all lost frames
/// are known by place (timed bench), against which [`agree`] holds the sum.
fn late(experiment: &Experiment, seen: u64, sent: u64, in_time: u64) -> u64 {
    if experiment.bench == Bench::Timed && experiment.load != Load::None {
        seen.max(sent.saturating_sub(in_time))
    } else {
        seen
    }
}

/// What the tester saw.
#[derive(Clone, Copy, Debug)]
struct Seen {
    went_in: u64,
    came_out: u64,
    /// Of those that came out, how many counted as lost by then.
    late: u64,
    lost: u64,
    /// Lost in the gateway's receive FIFO.
    fifo: u64,
}

fn agree(experiment: &Experiment, seen: &Seen, counts: &Counts) -> Result<(), String> {
    let wrong = |what: &str, left: u64, right: u64| {
        Err(format!(
            "not every frame is accounted for: {what} ({left} against {right}); the tester saw \
             {seen:?}, the gateway counted {counts:?}"
        ))
    };
    let timed = experiment.bench == Bench::Timed;
    // The real driver counts one error for several frames that its FIFO lost.
    if timed && seen.went_in != counts.received + seen.fifo {
        let got = counts.received + seen.fifo;
        return wrong(
            "frames on the incoming bus, and received or lost in the FIFO",
            seen.went_in,
            got,
        );
    }
    // The backlog counts Ethernet's packets too: it bounds what it can have taken.
    let passes = u64::from(experiment.hops.count) + 1;
    let (least, most) = (
        counts
            .received
            .saturating_sub(counts.backlog + counts.overrun)
            * passes,
        counts.received * passes,
    );
    let taken = match experiment.gateway {
        Gateway::Cangw | Gateway::OwnRules => counts.handled + counts.dropped,
        // What was taken and not sent is among these already.
        Gateway::User(_) | Gateway::Bpf | Gateway::None => counts.handled,
    };
    // What is dropped on its way makes no further passes.
    let least = least.saturating_sub(counts.dropped * (passes - 1));
    if !(least..=most).contains(&taken) {
        return wrong(
            "frames received, and taken by the gateway",
            counts.received * passes,
            taken,
        );
    }
    // On the kvaser bench the tester's own frames pass the same processor's backlog.
    let unseen = if timed { 0 } else { counts.backlog };
    if !(seen.came_out..=seen.came_out + unseen).contains(&counts.sent) {
        return wrong(
            "frames sent by the gateway, and seen on the outgoing bus",
            counts.sent,
            seen.came_out,
        );
    }
    if timed {
        let certain = seen.fifo + counts.dropped + counts.overrun + seen.late;
        if !(certain..=certain + counts.backlog).contains(&seen.lost) {
            return wrong("frames lost, and lost at a known place", seen.lost, certain);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Hops;

    #[test]
    fn counters_are_read() {
        let mut counts = Counts::default();
        counts.interfaces(
            "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
             lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n   \
             gw0:    2000     500    3    0    0     3          0         0        8       1    0    0    0     0       0          0\n   \
             gw1:       0       2    0    0    0     0          0         0     2000     497    0    0    0     0       0          0\n",
        );
        counts.backlog("00000a00 00000010 00000000\n");
        let rules = counts.rules(
            "cangw -A -s gw0 -d gw1 -f 001:7FF # 400 handled 2 dropped 1 deleted\n\
             cangw -A -s gw0 -d gw1 -f 002:7FF # 10 handled 0 dropped 0 deleted\n",
        );
        assert_eq!(rules, 2);
        let expected = Counts {
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
        let mut counts = Counts::default();
        counts.stats(json).unwrap();
        assert_eq!((counts.handled, counts.overrun, counts.dropped), (7, 2, 1));
        assert!(counts.stats("{}").is_err());
    }

    /// One route that took `taken`, sent `sent` and failed to send `failed`, and one that idles.
    fn kernel(taken: &str, sent: u64, failed: u64) -> Vec<u8> {
        // By the keys of route's list: what a gateway writes is what is read here.
        let number = |why: route::Stop| {
            let frames = u8::from(why == route::Stop::HopLimit);
            format!("\"{}\":{frames}", why.key())
        };
        let zeros = route::Stop::ALL.map(number).join(",");
        format!(
            r#"{{"cangate":1,"ok":{{"ports":[],"kernel":[{{"how":"x","routes":[
                {{"name":"r0","taken":{taken},"sent":{sent},{zeros},"failed":{failed}}},
                {{"name":"r1","taken":{taken},"sent":0,{zeros},"failed":0}}]}}]}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn counters_of_routes_in_the_kernel_are_read() {
        let mut rules = Counts::default();
        assert_eq!(rules.kernel_rules(&kernel("null", 40, 3)), Ok(2));
        assert_eq!((rules.handled, rules.dropped), (40, 5));
        let mut program = Counts::default();
        let queue = r#"[{"kind":"pfifo_fast","handle":"0:","root":true,"drops":4,"qlen":0},
            {"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","drops":99}]"#;
        program.queue(queue).unwrap();
        assert_eq!(program.kernel_program(&kernel("20", 40, 3)), Ok(2));
        assert_eq!((program.handled, program.dropped), (40, 9));
        let unsaid = program.kernel_program(&kernel("null", 1, 0)).unwrap_err();
        assert!(unsaid.contains("how many frames it took"), "{unsaid}");
        let none = rules.kernel_rules(br#"{"ok":{"ports":[]}}"#).unwrap_err();
        assert!(none.contains("nothing in the kernel"), "{none}");
        assert_eq!(
            rules.kernel_rules(br#"{"error":"no"}"#),
            Err("no".to_owned())
        );
        assert!(program.queue("no JSON").is_err());
    }

    fn timed() -> Experiment {
        Experiment {
            bench: Bench::Timed,
            ..Experiment::default()
        }
    }

    const SEEN: Seen = Seen {
        went_in: 100,
        came_out: 90,
        late: 0,
        lost: 10,
        fifo: 6,
    };
    const COUNTED: Counts = Counts {
        received: 94,
        receive_errors: 6,
        sent: 90,
        backlog: 0,
        handled: 90,
        dropped: 4,
        overrun: 0,
    };

    #[test]
    fn sums_that_add_up_are_taken_and_no_others() {
        agree(&timed(), &SEEN, &COUNTED).unwrap();
        for wrong in [
            Counts {
                received: 93,
                ..COUNTED
            },
            Counts {
                handled: 89,
                ..COUNTED
            },
            Counts {
                sent: 91,
                ..COUNTED
            },
            Counts {
                dropped: 3,
                handled: 91,
                ..COUNTED
            },
        ] {
            let words = agree(&timed(), &SEEN, &wrong).unwrap_err();
            assert!(
                words.contains("not every frame is accounted for"),
                "{words}"
            );
        }
        // BPF counts what it took, those among them that found the queue full.
        let bpf = Experiment {
            gateway: Gateway::Bpf,
            ..timed()
        };
        let took = Counts {
            handled: 94,
            ..COUNTED
        };
        agree(&bpf, &SEEN, &took).unwrap();
        agree(&bpf, &SEEN, &COUNTED).unwrap_err();
        let own = Experiment {
            gateway: Gateway::OwnRules,
            ..timed()
        };
        agree(&own, &SEEN, &COUNTED).unwrap();
        agree(&own, &SEEN, &took).unwrap_err();
        // One that the backlog may have taken.
        let backlog = Counts {
            handled: 89,
            backlog: 5,
            sent: 89,
            ..COUNTED
        };
        let seen = Seen {
            came_out: 89,
            lost: 11,
            ..SEEN
        };
        agree(&timed(), &seen, &backlog).unwrap();
        agree(
            &timed(),
            &seen,
            &Counts {
                backlog: 0,
                ..backlog
            },
        )
        .unwrap_err();
    }

    #[test]
    fn the_backlog_can_take_what_the_tester_of_the_kvaser_bench_was_to_see() {
        let kvaser = Experiment {
            bench: Bench::Kvaser,
            ..timed()
        };
        let counts = Counts {
            received: 94,
            sent: 90,
            handled: 90,
            dropped: 4,
            ..Counts::default()
        };
        let unseen = Seen {
            came_out: 85,
            lost: 15,
            ..SEEN
        };
        agree(&kvaser, &SEEN, &counts).unwrap();
        agree(&kvaser, &unseen, &counts).unwrap_err();
        let full = |backlog| Counts { backlog, ..counts };
        agree(&kvaser, &unseen, &full(5)).unwrap();
        agree(&kvaser, &unseen, &full(4)).unwrap_err();
        agree(&timed(), &unseen, &full(5)).unwrap_err();
        // More is seen than was sent.
        let more = Seen {
            came_out: 91,
            ..SEEN
        };
        agree(&kvaser, &more, &full(5)).unwrap_err();
    }

    #[test]
    fn only_behind_a_load_can_a_frame_come_unseen() {
        let loaded = Experiment {
            load: Load::Cpu,
            ..timed()
        };
        assert_eq!(late(&loaded, 1, 100, 98), 2);
        assert_eq!(late(&loaded, 1, 98, 98), 1);
        assert_eq!(late(&timed(), 1, 100, 98), 1);
        let kvaser = Experiment {
            bench: Bench::Kvaser,
            ..loaded
        };
        assert_eq!(late(&kvaser, 0, 100, 98), 0);
    }

    #[test]
    fn a_frame_that_comes_after_it_was_given_up_is_lost_and_seen() {
        let late = Seen {
            went_in: 100,
            came_out: 100,
            late: 2,
            lost: 2,
            fifo: 0,
        };
        let counts = Counts {
            received: 100,
            sent: 100,
            handled: 100,
            ..Counts::default()
        };
        agree(&timed(), &late, &counts).unwrap();
        agree(&timed(), &Seen { late: 1, ..late }, &counts).unwrap_err();
    }

    #[test]
    fn each_pass_is_counted() {
        let e = Experiment {
            hops: Hops {
                count: 2,
                ..Hops::NONE
            },
            ..timed()
        };
        let seen = Seen {
            went_in: 100,
            came_out: 100,
            late: 0,
            lost: 0,
            fifo: 0,
        };
        let counts = Counts {
            received: 100,
            sent: 100,
            handled: 300,
            ..Counts::default()
        };
        agree(&e, &seen, &counts).unwrap();
        agree(
            &e,
            &seen,
            &Counts {
                handled: 299,
                ..counts
            },
        )
        .unwrap_err();
    }
}
