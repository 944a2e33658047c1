//! O27: the frames that a machine receives from a bus that is full (virtualization-2015 §5.3:
//! "line-rate performance").

use super::v1_virtual_machines::{LONGEST, O18, PLAIN, over};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use experiment::receiving::receiving;
use experiment::{Experiment, ExperimentTask, Nesting, TrafficPattern};

pub(super) const CLAIMS: &[Claim] = &[O27];

const O27: Claim = Claim {
    id: "O27",
    claim: "A machine receives at the rate of the bus, and nothing is lost",
    figure: "≥ 99 %, 0 lost",
    criterion: "while a node of the bus sends frames of 8 bytes without pause (10 000; quick: 2000), a frame is on the bus for at \
        least 99 % of the time, and the program has all of them natively, by vm:driver and vm:vf, in the full run also by \
        vm:host and vm:own",
    needs: |extent, _| {
        ways(extent)
            .iter()
            .map(|way| flooded(extent, *way))
            .collect()
    },
    judge: line_rate,
    ..O18
};

fn ways(extent: Extent) -> &'static [Nesting] {
    extent.pick(
        &[Nesting::Native, Nesting::Driver, Nesting::Function],
        &[
            Nesting::Native,
            Nesting::Host,
            Nesting::Own,
            Nesting::Driver,
            Nesting::Function,
        ],
    )
}

fn flooded(extent: Extent, way: Nesting) -> Experiment {
    Experiment {
        task: ExperimentTask::Receive,
        traffic: TrafficPattern::Flood,
        frames: extent.pick(2000, 10_000),
        ..over(extent, PLAIN, way, LONGEST)
    }
}

fn line_rate(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for way in ways(extent) {
        let experiment = flooded(extent, *way);
        let counts = receiving(evidence.results(&experiment)?).ok_or_else(|| MissingEvidence {
            experiment: experiment.name(),
            why: "its results do not contain what the program received".to_owned(),
        })?;
        let whole = counts.bus == u64::from(experiment.frames);
        let exits = counts.exits.iter().find(|(kind, _)| kind == "exits");
        let exits = exits.map_or(0.0, |(_, each)| *each);
        let places = counts
            .places()
            .map(|(place, count)| format!("{count} {place}"));
        measured.push(format!("vm:{way} {} of {}", counts.program, counts.bus));
        conditions.add(
            whole && counts.lost() == 0 && counts.load >= 99.0,
            format!(
                "by vm:{way} the program has {} of {} frames ({}); the bus is busy for {:.1} %, the processor idle for {:.0} %, \
                 and machines are left {exits:.1} times a frame",
                counts.program,
                counts.bus,
                places.join(", "),
                counts.load,
                counts.idle
            ),
        );
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use experiment::receiving::{ReceivedCounts, entries};
    use experiment::{GatewayChoice, fake};

    /// Returns the verdict where the driver VM's machine has lost `lost` frames, with this bus
    /// load.
    fn with(extent: Extent, lost: u64, load: f64) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in O27.needs(extent) {
            let bus = u64::from(e.frames);
            let lost = if e.gateway == GatewayChoice::Vm(Nesting::Driver) {
                lost
            } else {
                0
            };
            let counts = ReceivedCounts {
                bus,
                load,
                owner: bus,
                machine: bus - lost,
                program: bus - lost,
                ..ReceivedCounts::default()
            };
            let mut results = fake::results(fake::records(3, 1));
            results.description.more.extend(entries(&counts));
            evidence.add(e, Ok(results));
        }
        O27.judge(&evidence, extent).verdict
    }

    #[test]
    fn o27_is_about_losses_at_a_full_bus() {
        for extent in [Extent::Quick, Extent::Full] {
            assert_eq!(with(extent, 0, 99.0), Reproduced);
            assert_eq!(with(extent, 1, 100.0), Differs);
            assert_eq!(with(extent, 0, 98.9), Differs);
        }
        let mut evidence = ClaimEvidence::default();
        for e in O27.needs(Extent::Quick) {
            evidence.add(e, Ok(fake::results(fake::records(3, 1))));
        }
        assert_eq!(O27.judge(&evidence, Extent::Quick).verdict, NotTestable);
    }
}
