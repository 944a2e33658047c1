//! What filters cost, and what happens where they cost too much.

use super::simple::{ratio, simple};
use super::stats::{line, loss, median, received_runs, us};
use super::{Claim, Conditions, Evidence, Extent, Judgement, Missing, Way, board};
use crate::experiment::{Cpu, Experiment, Filters, TrafficKind};
use probe::Record;

fn filtered(extent: Extent, way: Way, filters: Filters) -> Experiment {
    way.quickly(extent).of(Experiment {
        filters,
        frames: extent.pick(200, 2000),
        ..simple(extent)
    })
}

/// Lengths of the list.
fn lists(extent: Extent) -> &'static [u32] {
    extent.pick(
        &[1, 512, 2048],
        &[
            1, 20, 40, 60, 80, 100, 120, 160, 240, 320, 512, 1024, 1536, 2048,
        ],
    )
}

/// On all ways.
pub(super) const ALL: [Claim; 6] = [G4, G4_USER, G4_BPF, G5, G5_USER, G5_BPF];

/// The table's identifiers are the first, one in the middle, the last.
fn tables(extent: Extent) -> &'static [u32] {
    extent.pick(&[1, 2048], &[1, 1024, 2048])
}

pub(super) const G4: Claim = Claim {
    id: "G4",
    paper: "gateway-2011 §3.4, gateway-2010-draft §IV-C1",
    claim: "Filters kept in a list cost linearly in their number; single-ID SFF filters cost the same for all 2048 IDs",
    figure: "knee near 80 filters; 2048 list filters: 400 against 100",
    criterion: "the medians over the list's length lie within 5 % of their range from a straight line; those of \
        single-ID filters are within 5 % of one another; 2048 in a list cost at least twice as much \
        as 2048 in the table (paper: 4 times)",
    needs: |extent| needs_g4(extent, Way::Cangw),
    bursts: |_| None,
    rates: |_| vec![],
    judge: |evidence, extent| judge_g4(evidence, extent, Way::Cangw),
};

const G4_USER: Claim = Claim {
    id: "G4/user",
    needs: |extent| needs_g4(extent, Way::User),
    judge: |evidence, extent| judge_g4(evidence, extent, Way::User),
    ..G4
};

const G4_BPF: Claim = Claim {
    id: "G4/bpf",
    needs: |extent| needs_g4(extent, Way::Bpf),
    judge: |evidence, extent| judge_g4(evidence, extent, Way::Bpf),
    ..G4
};

fn needs_g4(extent: Extent, way: Way) -> Vec<Experiment> {
    let filters = || {
        let lists = lists(extent).iter().map(|&n| Filters::List(n));
        let tables = tables(extent).iter().map(|&n| Filters::Sff(n));
        lists.chain(tables)
    };
    way.beside(extent, |way| {
        filters().map(|f| filtered(extent, way, f)).collect()
    })
}

fn judge_g4(evidence: &Evidence, extent: Extent, way: Way) -> Result<Judgement, Missing> {
    let p50_of = |way, f| Ok(evidence.summary(&filtered(extent, way, f))?.p50);
    let p50 = |f| p50_of(way, f);
    let mut points = Vec::new();
    for &n in lists(extent) {
        points.push((n, p50(Filters::List(n))?));
    }
    let table: Vec<i64> = tables(extent)
        .iter()
        .map(|&n| p50(Filters::Sff(n)))
        .collect::<Result<_, _>>()?;
    let (least, most) = (
        table.iter().min().copied().unwrap_or(0),
        table.iter().max().copied().unwrap_or(0),
    );
    let (short, long) = (
        points.first().map_or(0, |p| p.1),
        points.last().map_or(0, |p| p.1),
    );
    let as_line: Vec<_> = points
        .iter()
        .map(|p| (f64::from(p.0), p.1 as f64))
        .collect();
    let (slope, _, off) = line(&as_line).unwrap_or((0.0, 0.0, f64::INFINITY));
    let beside = way.against(|| {
        let [list, table] =
            [Filters::List(2048), Filters::Sff(2048)].map(|f| p50_of(Way::Cangw, f));
        Ok(format!("{} against {}", us(list?), us(table?)))
    })?;
    let measured = format!(
        "{slope:.0} ns a filter; 2048 list filters: {} against {}{beside}",
        us(long),
        us(most)
    );
    let mut conditions = Conditions::default();
    let off = 100.0 * off / (long - short).max(1) as f64;
    conditions.add(
        off <= 5.0,
        format!("the list's medians are within {off:.1} % of a straight line"),
    );
    let spread = 100.0 * (ratio(most, least) - 1.0);
    conditions.add(
        spread <= 5.0,
        format!("single-ID filters differ by {spread:.1} %"),
    );
    let times = ratio(long, most);
    conditions.add(
        times >= 2.0,
        format!("2048 in a list cost {times:.1} times what they cost in the table"),
    );
    let besides = match way {
        Way::Cangw => knee(&points),
        _ => String::new(),
    };
    Ok(conditions.judge(measured, &besides))
}

/// Is there the paper's knee? It came from the CPU's cache.
fn knee(points: &[(u32, i64)]) -> String {
    let slope = |of: &[(u32, i64)]| {
        let of: Vec<_> = of.iter().map(|p| (f64::from(p.0), p.1 as f64)).collect();
        line(&of).map(|l| l.0)
    };
    let below: Vec<_> = points.iter().copied().filter(|p| p.0 <= 80).collect();
    let above: Vec<_> = points.iter().copied().filter(|p| p.0 >= 80).collect();
    match (slope(&below), slope(&above)) {
        (Some(below), Some(above)) if above > 1.2 * below => {
            format!("the slope grows from {below:.0} to {above:.0} ns a filter above 80")
        }
        (Some(below), Some(above)) => format!(
            "no knee ({below:.0} ns a filter up to 80, {above:.0} above): it came from the data cache, \
             which instruction counting does not have"
        ),
        _ => "too few lengths to look for a knee".to_owned(),
    }
}

/// A flood through a long list.
pub(super) fn overrun(extent: Extent, way: Way) -> Experiment {
    way.quickly(extent).of(Experiment {
        traffic: TrafficKind::Flood,
        filters: Filters::List(2048),
        ..board(extent.pick(1000, 10_000))
    })
}

/// The same where the processor is so slow that the walk costs what it cost the papers' board.
fn overrun_slower(extent: Extent, way: Way) -> Experiment {
    Experiment {
        cpu: Cpu::BoardAt(4),
        ..overrun(extent, way)
    }
}

/// Frames that the receive FIFO of the papers' controller holds.
const FIFO: usize = 4;

pub(super) const G5: Claim = Claim {
    id: "G5",
    paper: "gateway-2010-draft §IV-C2",
    claim: "2048 list filters at 100 % bus load: most frames are dropped, in runs that follow the controller's receive FIFO",
    figure: "≈80 % lost; 4 frames a run",
    criterion: "70 to 90 % lost; the flood begins with a run of as many frames as the FIFO holds (4) and the one \
        that is being worked at; the paper's chart shows the FIFO filling at the beginning of each chunk",
    needs: |extent| needs_g5(extent, Way::Cangw),
    bursts: |_| None,
    rates: |_| vec![],
    judge: |evidence, extent| judge_g5(evidence, extent, Way::Cangw),
};

const G5_USER: Claim = Claim {
    id: "G5/user",
    needs: |extent| needs_g5(extent, Way::User),
    judge: |evidence, extent| judge_g5(evidence, extent, Way::User),
    ..G5
};

const G5_BPF: Claim = Claim {
    id: "G5/bpf",
    needs: |extent| needs_g5(extent, Way::Bpf),
    judge: |evidence, extent| judge_g5(evidence, extent, Way::Bpf),
    ..G5
};

fn needs_g5(extent: Extent, way: Way) -> Vec<Experiment> {
    way.beside(extent, |way| {
        vec![overrun(extent, way), overrun_slower(extent, way)]
    })
}

fn judge_g5(evidence: &Evidence, extent: Extent, way: Way) -> Result<Judgement, Missing> {
    let board = Overrun::of(evidence, &overrun(extent, way))?;
    let slower = Overrun::of(evidence, &overrun_slower(extent, way))?;
    let mut conditions = Conditions::default();
    conditions.add(
        (0.7..=0.9).contains(&board.share),
        format!("{:.1} % of the frames were lost", 100.0 * board.share),
    );
    conditions.add(
        board.first == FIFO + 1,
        format!(
            "the first {} came through, then runs of {}",
            board.first, board.run
        ),
    );
    let besides = format!(
        "the gateway needs {} µs a frame, the bus {}, the paper's board needed about 400: four times \
         as slow (board:4) it needs {}, and loses {:.1} % after the first {}",
        us(board.each),
        us(board.frame),
        us(slower.each),
        100.0 * slower.share,
        slower.first
    );
    let beside = way.against(|| {
        let cangw = Overrun::of(evidence, &overrun(extent, Way::Cangw))?;
        Ok(format!("{:.1} % lost", 100.0 * cangw.share))
    })?;
    let measured = format!(
        "{:.1} % lost{beside}; the first {}, then runs of {}",
        100.0 * board.share,
        board.first,
        board.run
    );
    Ok(conditions.judge(measured, &besides))
}

/// What became of a flood that was too much.
struct Overrun {
    /// Frames lost, of 1.
    share: f64,
    /// The median number of frames that came through one after the other.
    run: usize,
    /// How many came through before the first was lost.
    first: usize,
    /// What the gateway needed for a frame, ns.
    each: i64,
    /// How long a frame takes on the bus, ns.
    frame: i64,
}

impl Overrun {
    fn of(evidence: &Evidence, experiment: &Experiment) -> Result<Self, Missing> {
        let results = evidence.results(experiment)?;
        evidence.profile(experiment)?;
        let runs = received_runs(&results.records);
        let durations = results
            .records
            .iter()
            .filter_map(|r| i64::try_from(r.outgoing?.duration).ok());
        Ok(Self {
            share: loss(results),
            run: median(&runs).unwrap_or(0),
            first: runs.first().copied().unwrap_or(0),
            each: spacing(&results.records),
            frame: median(&durations.collect::<Vec<_>>()).unwrap_or(0),
        })
    }
}

/// The median time from one outgoing frame's end to the next one's, ns: what a gateway that always
/// has work needs for a frame.
fn spacing(records: &[Record]) -> i64 {
    let mut ends: Vec<u64> = records
        .iter()
        .filter_map(|r| Some(r.outgoing?.end))
        .collect();
    ends.sort_unstable();
    let apart = ends
        .windows(2)
        .filter_map(|w| i64::try_from(w.last()? - w.first()?).ok());
    median(&apart.collect::<Vec<_>>()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{Differs, Reproduced};
    use crate::claims::testing::{judge, verdict};
    use crate::experiment::Gateway;
    use crate::fake;

    fn with(list: impl Fn(u64) -> u64, table: impl Fn(u64) -> u64) -> super::super::Judgement {
        judge(&G4, Extent::Full, |e| {
            let latency = match e.filters {
                Filters::List(n) => list(u64::from(n)),
                Filters::Sff(n) => table(u64::from(n)),
                _ => 0,
            };
            fake::records(10, latency)
        })
    }

    #[test]
    fn g4_wants_a_line_and_a_constant() {
        let straight = |n: u64| 35_000 + n * 50;
        let good = with(straight, |_| 36_000);
        assert_eq!(good.verdict, Reproduced, "{good:?}");
        assert!(
            good.measured.starts_with("50 ns a filter"),
            "{}",
            good.measured
        );
        assert!(good.why.contains("no knee"), "{}", good.why);
        let knee = |n: u64| straight(n) + n.saturating_sub(80) * 20;
        assert!(with(knee, |_| 36_000).why.contains("the slope grows"));
        assert_eq!(with(|n| 35_000 + n * n / 40, |_| 36_000).verdict, Differs);
        assert_eq!(with(straight, |n| 36_000 + 10 * n).verdict, Differs);
        assert_eq!(with(|n| 35_000 + n, |_| 36_000).verdict, Differs);
    }

    #[test]
    fn the_same_is_asked_of_the_other_ways_with_can_gw_beside_them() {
        let judged = judge(&G4_BPF, Extent::Full, |e| {
            let list = match (&e.gateway, e.filters) {
                (Gateway::Cangw, Filters::List(n)) => u64::from(n) * 50,
                _ => 0,
            };
            fake::records(10, 35_000 + list)
        });
        assert_eq!(judged.verdict, Differs);
        assert_eq!(
            judged.measured,
            "0 ns a filter; 2048 list filters: 35.0 against 35.0 (can-gw: 137.4 against 35.0)"
        );
        let judged = judge(&G5_BPF, Extent::Quick, |e| {
            let lossy = e.gateway != Gateway::Bpf;
            fake::losing(fake::records(1000, 40_000), |n| lossy && n % 25 >= 5)
        });
        assert_eq!(judged.verdict, Differs);
        assert!(
            judged
                .measured
                .starts_with("0.0 % lost (can-gw: 80.0 % lost)"),
            "{}",
            judged.measured
        );
    }

    #[test]
    fn g5_wants_the_share_and_the_runs() {
        let with = |passed: u64, of: u64| {
            verdict(&G5, Extent::Quick, move |_| {
                fake::losing(fake::records(1000, 400_000), |n| n % of >= passed)
            })
        };
        assert_eq!(with(5, 25), Reproduced);
        assert_eq!(with(1, 5), Differs, "right share, another beginning");
        assert_eq!(with(5, 10), Differs, "right beginning, another share");
    }
}
