//! V1 to V5: virtual machines that share a controller (virtualization-2015), and the bound of the same measurement.
//!
//! The paper: a program asks on one CAN node of a board, another answers on a second node of the same bus, and the round
//! trip is divided by two (Fig. 3 and 4). Here only the end that asks is in a machine; the end that answers is a node beside
//! the hypervisor, the same for every way. So half of the native round trip is one sending and one receiving,
//! and what a way adds for one sending and one receiving is its whole round trip less the native one. The paper's
//! software is a driver VM; here it is `cangate run` beside the hypervisor (`vm:host`), because the lab has no driver VM yet.

use super::round_trips::overhead;
use crate::claim::{Claim, Judgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{Evidence, Missing};
use crate::extent::Extent;
use crate::papers::{Origin, Paper};
use crate::stats::us;
use experiment::nested::exits_a_frame;
use experiment::{Bench, Experiment, Gateway, Nesting, Task, round_trip};

pub(super) const CLAIMS: &[Claim] = &[V1, V2, V3, V4, V5];
pub(super) const BOUNDS: &[Claim] = &[O18];

const V1: Claim = Claim {
    id: "V1",
    origin: Origin::Papers(&[(Paper::Virtualization2015, "§5.1, Figure 4")]),
    claim: "Natively, sending and receiving cost little beside the frame's time on the bus",
    figure: "send 8, receive 11.5",
    criterion: "half of the native round trip, less the frame's time on the bus (8 bytes, median), is at most half of that time",
    needs: |extent, _| vec![over(extent, PLAIN, Nesting::Native, LONGEST)],
    judge: native,
    ..Claim::BLANK
};

const V2: Claim = Claim {
    id: "V2",
    origin: Origin::Papers(&[(Paper::Virtualization2015, "§5.1, Figure 4")]),
    claim: "Sharing a controller by software adds a constant, whatever the payload",
    figure: "≈35, by a driver VM",
    criterion: "what vm:host adds to the native round trip (median) differs over 0 to 8 bytes by at most a fifth of its \
        mean; in the full run also on 7.3",
    needs: |extent, _| {
        let of = |kernel| {
            payloads(extent)
                .iter()
                .flat_map(move |p| both(extent, kernel, *p))
        };
        kernels(extent).iter().flat_map(|k| of(*k)).collect()
    },
    judge: constant,
    ..Claim::BLANK
};

const V3: Claim = Claim {
    id: "V3",
    origin: Origin::Papers(&[(Paper::Virtualization2015, "§5.2, Figure 6")]),
    claim: "A controller that shares itself (virtual functions) adds little",
    figure: "least 13 → 20 to 24; mean +11 → +25",
    criterion: "what a virtual function adds is at most 0.2 of what a driver VM adds",
    needs: |extent, _| vec![over(extent, PLAIN, Nesting::Native, LONGEST)],
    judge: |evidence, extent, _| {
        lacks(
            evidence,
            extent,
            "vm:vf",
            "the lab has no way by virtual functions yet, nor by a driver VM",
        )
    },
    ..Claim::BLANK
};

const V4: Claim = Claim {
    id: "V4",
    origin: Origin::Papers(&[(Paper::Virtualization2015, "§5.3")]),
    claim: "What sharing adds stays under a frame's time on the bus, so that line rate is possible",
    figure: "35 and 7, under every frame's time",
    criterion: "what vm:host adds to the native round trip (8 bytes, median) is less than the frame's time on the bus",
    needs: |extent, _| both(extent, PLAIN, LONGEST).to_vec(),
    judge: under_a_frame,
    ..Claim::BLANK
};

const V5: Claim = Claim {
    id: "V5",
    origin: Origin::Papers(&[(Paper::Virtualization2015, "§5.3")]),
    claim: "Several machines that send at once: expected to add more where software shares",
    figure: "not measured",
    criterion: "the worst case of vm:host grows with 1, 2, 4 and 8 machines that send at once",
    needs: |extent, _| vec![over(extent, PLAIN, Nesting::Native, LONGEST)],
    judge: |evidence, extent, _| {
        lacks(
            evidence,
            extent,
            "several machines",
            "the lab starts one inner machine in an experiment, no more yet",
        )
    },
    ..Claim::BLANK
};

const O18: Claim = Claim {
    id: "O18",
    origin: Origin::Bound("bound of virtual machines"),
    claim: "A machine with a virtio port leaves for the hypervisor at most 3 times a frame",
    figure: "≤ 3",
    criterion: "KVM's exits in a round trip by vm:host on 6.1 (8 bytes), divided by its two frames: ≤ 3",
    needs: |extent, _| vec![over(extent, PLAIN, Nesting::Host, LONGEST)],
    judge: few_exits,
    ..Claim::BLANK
};

const PLAIN: &str = "6.1";
/// Payload bytes of the longest classic frame.
const LONGEST: u8 = 8;

fn kernels(extent: Extent) -> &'static [&'static str] {
    extent.pick(&[PLAIN], &[PLAIN, "7.3"])
}

fn payloads(extent: Extent) -> &'static [u8] {
    extent.pick(&[0, LONGEST], &[0, 1, 2, 3, 4, 5, 6, 7, LONGEST])
}

fn over(extent: Extent, kernel: &str, nesting: Nesting, payload: u8) -> Experiment {
    Experiment {
        kernel: kernel.to_owned(),
        bench: Bench::Vm,
        task: Task::RoundTrip,
        gateway: Gateway::Vm(nesting),
        payload,
        frames: extent.pick(300, 1000),
        ..Experiment::default()
    }
}

fn both(extent: Extent, kernel: &str, payload: u8) -> [Experiment; 2] {
    [Nesting::Native, Nesting::Host].map(|n| over(extent, kernel, n, payload))
}

/// How long a frame is on the bus, ns: half of what both of a round trip are.
fn frame(evidence: &Evidence, experiment: &Experiment) -> Result<i64, Missing> {
    let both = round_trip::bus_time(evidence.results(experiment)?);
    both.map(|ns| ns / 2).ok_or_else(|| Missing {
        experiment: experiment.name(),
        why: "its results do not say how long the frames were on the bus".to_owned(),
    })
}

/// What `vm:host` adds to a native round trip, ns.
fn added(evidence: &Evidence, extent: Extent, kernel: &str, payload: u8) -> Result<i64, Missing> {
    let [native, host] = both(extent, kernel, payload);
    Ok(overhead(evidence, &host)?.p50 - overhead(evidence, &native)?.p50)
}

fn native(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let experiment = over(extent, PLAIN, Nesting::Native, LONGEST);
    let both_ways = overhead(evidence, &experiment)?.p50 / 2;
    let frame = frame(evidence, &experiment)?;
    let mut conditions = Conditions::default();
    conditions.add(
        both_ways * 2 <= frame,
        format!(
            "sending and receiving take {} beside {} on the bus",
            us(both_ways),
            us(frame)
        ),
    );
    Ok(conditions.judge(format!("{} for both", us(both_ways)), ""))
}

fn constant(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for kernel in kernels(extent) {
        let all: Result<Vec<i64>, Missing> = payloads(extent)
            .iter()
            .map(|payload| added(evidence, extent, kernel, *payload))
            .collect();
        let all = all?;
        let (Some(least), Some(most)) = (all.iter().min(), all.iter().max()) else {
            continue;
        };
        let mean = all.iter().sum::<i64>() as f64 / all.len() as f64;
        let spread = (most - least) as f64 / mean;
        measured.push(format!("{kernel}: {} to {}", us(*least), us(*most)));
        conditions.add(
            mean > 0.0 && spread <= 0.2,
            format!("on {kernel} what is added differs over payloads by {spread:.2} of its mean (at most 0.20)"),
        );
    }
    Ok(conditions.judge(
        measured.join("; "),
        "by the host's process, in the place of the paper's driver VM",
    ))
}

fn under_a_frame(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let added = added(evidence, extent, PLAIN, LONGEST)?;
    let frame = frame(evidence, &over(extent, PLAIN, Nesting::Native, LONGEST))?;
    let mut conditions = Conditions::default();
    conditions.add(
        added < frame,
        format!(
            "vm:host adds {} to a frame that is {} on the bus",
            us(added),
            us(frame)
        ),
    );
    Ok(conditions.judge(us(added), "the rate itself was not measured"))
}

fn few_exits(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let experiment = over(extent, PLAIN, Nesting::Host, LONGEST);
    let each = exits_a_frame(evidence.results(&experiment)?).ok_or_else(|| Missing {
        experiment: experiment.name(),
        why: "its results do not say how often the machine was left".to_owned(),
    })?;
    let mut conditions = Conditions::default();
    conditions.add(each <= 3.0, format!("{each:.2} exits a frame (at most 3)"));
    Ok(conditions.judge(format!("{each:.2}"), ""))
}

/// What is to be compared with the native way is not there.
fn lacks(evidence: &Evidence, extent: Extent, what: &str, why: &str) -> Result<Judgement, Missing> {
    evidence.summary(&over(extent, PLAIN, Nesting::Native, LONGEST))?;
    Err(Missing {
        experiment: what.to_owned(),
        why: why.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use crate::list::round_trips::tests::verdict;
    use experiment::fake;

    /// The verdict where round trips take so long beside the bus: natively, and by vm:host with a payload, ns.
    fn with(claim: &Claim, native: u64, host: fn(u8) -> u64) -> Verdict {
        verdict(claim, Extent::Quick, move |e| {
            let all = match e.gateway {
                Gateway::Vm(Nesting::Host) => host(e.payload),
                _ => native,
            };
            vec![all; 3]
        })
    }

    #[test]
    fn v1_is_about_half_a_round_trip() {
        // A frame of the made-up results is 124.5 µs on the bus.
        assert_eq!(with(&V1, 124_000, |_| 0), Reproduced);
        assert_eq!(with(&V1, 126_000, |_| 0), Differs);
    }

    #[test]
    fn v2_is_about_what_is_added() {
        let slightly = |payload: u8| 250_000 + u64::from(payload) * 4_000;
        assert_eq!(with(&V2, 50_000, slightly), Reproduced);
        let by_payload = |payload: u8| 250_000 + u64::from(payload) * 8_000;
        assert_eq!(with(&V2, 50_000, by_payload), Differs);
        assert_eq!(with(&V2, 50_000, |_| 40_000), Differs);
    }

    #[test]
    fn v4_holds_what_is_added_against_a_frame() {
        assert_eq!(with(&V4, 50_000, |_| 174_000), Reproduced);
        assert_eq!(with(&V4, 50_000, |_| 175_000), Differs);
    }

    #[test]
    fn what_is_not_there_is_not_judged() {
        assert_eq!(with(&V3, 50_000, |_| 0), NotTestable);
        assert_eq!(with(&V5, 50_000, |_| 0), NotTestable);
    }

    #[test]
    fn o18_counts_the_exits_of_a_frame() {
        let with = |exits: Option<&str>| {
            let mut evidence = Evidence::default();
            for e in O18.needs(Extent::Quick) {
                let mut results = fake::results(fake::records(3, 1));
                let entry = exits.map(|n| ("kvm a round trip, exits".to_owned(), n.to_owned()));
                results.description.more.extend(entry);
                evidence.add(e, Ok(results));
            }
            O18.judge(&evidence, Extent::Quick).verdict
        };
        assert_eq!(with(Some("6.00")), Reproduced);
        assert_eq!(with(Some("6.10")), Differs);
        assert_eq!(with(None), NotTestable);
    }
}
