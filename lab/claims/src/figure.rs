//! A claim's figure: the results of its experiments, over the quantity on the paper's axis, and the
//! points that the paper states.
//!
//! A claim defines how its figure is made ([`FigurePlan`]); [`FigurePlan::draw`] fills it from the
//! measured evidence. The program that draws it needs no knowledge of claims: each value comes with
//! its unit.

use crate::evidence::{ClaimEvidence, MissingEvidence};
use experiment::Experiment;
use serde::Serialize;

/// The way in which a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureForm {
    /// Over numbers: a line for the medians, marks for the worst cases.
    Line,
    /// Like [`FigureForm::Line`], where the name of each line states which statistic of its
    /// latencies it shows.
    Named,
    /// Side by side: a column for each name.
    Bars,
    /// The latency profiles of the experiments; the paper's points are places on the axis of
    /// latencies.
    Profile,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FigureAxis {
    /// The quantity on the axis.
    pub title: &'static str,
    /// Its unit; empty for names and plain numbers.
    pub unit: &'static str,
}

/// A position on the axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AxisPlace {
    /// A number.
    Number(f64),
    /// One of several names, in the order in which they appear.
    Name(String),
}

/// The statistic of a distribution that the paper states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// The best case.
    Best,
    /// The median, or the value of most frames.
    Median,
    /// The worst case.
    Worst,
    /// A value for which the paper names no statistic.
    Value,
}

/// The measured values at one position.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigurePoint {
    /// The position.
    pub x: AxisPlace,
    /// The median, in the unit of the vertical axis.
    pub median: f64,
    /// The worst case, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<f64>,
    /// The experiment that it comes from.
    pub experiment: String,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSeries {
    /// The gateway, which determines the colour.
    pub gateway: String,
    /// Any other setting that distinguishes it from the other series; may be empty.
    pub setting: String,
    /// The points, in the order of the axis.
    pub points: Vec<FigurePoint>,
    /// The experiment whose profile it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
}

/// A value that the paper states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedValue {
    /// The quantity that the value is of: "2048 in a list".
    pub name: &'static str,
    /// The position on the axis.
    pub x: AxisPlace,
    /// The value, in the unit of the vertical axis; of a profile there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// The statistic.
    pub of: FigureKind,
    /// The section of the paper that states it.
    pub source: &'static str,
}

impl StatedValue {
    /// Returns the paper's value at a number on the axis.
    pub(crate) const fn at(
        name: &'static str,
        x: f64,
        y: f64,
        of: FigureKind,
        source: &'static str,
    ) -> Self {
        Self {
            name,
            x: AxisPlace::Number(x),
            y: Some(y),
            of,
            source,
        }
    }

    /// Returns the paper's value in a column.
    pub(crate) fn beside(column: &str, y: f64, of: FigureKind, source: &'static str) -> Self {
        Self {
            name: "",
            x: AxisPlace::Name(column.to_owned()),
            y: Some(y),
            of,
            source,
        }
    }

    /// Returns a latency that the paper states about a profile.
    pub(crate) const fn mark(
        name: &'static str,
        x: f64,
        of: FigureKind,
        source: &'static str,
    ) -> Self {
        Self {
            name,
            x: AxisPlace::Number(x),
            y: None,
            of,
            source,
        }
    }
}

/// A figure, complete.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimFigure {
    /// The title of the figure.
    pub title: &'static str,
    /// The way in which it is drawn.
    pub form: FigureForm,
    /// The axis of the parameter.
    pub x: FigureAxis,
    /// The axis of the measured quantity.
    pub y: FigureAxis,
    /// The clock of its times: `virtual` or `real`, as stated in the results.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub clock: String,
    /// The measured values.
    pub series: Vec<FigureSeries>,
    /// The values that the paper states.
    pub paper: Vec<StatedValue>,
    /// A further note for the reader.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub note: &'static str,
}

/// A value of an experiment in a figure.
pub(crate) struct FigureValue {
    /// The setting that distinguishes its series from others of the same gateway.
    pub(crate) setting: String,
    pub(crate) x: AxisPlace,
    pub(crate) median: f64,
    pub(crate) worst: Option<f64>,
}

/// Converts nanoseconds to µs.
pub(crate) fn micros(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// Returns the median and the worst latency of an experiment, in µs, at a position.
pub(crate) fn latency(
    evidence: &ClaimEvidence,
    experiment: &Experiment,
    setting: impl Into<String>,
    x: AxisPlace,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    let summary = evidence.summary(experiment)?;
    Ok(vec![FigureValue {
        setting: setting.into(),
        x,
        median: micros(summary.p50),
        worst: Some(micros(summary.max)),
    }])
}

/// The definition of a claim's figure.
pub(crate) struct FigurePlan {
    pub(crate) title: &'static str,
    pub(crate) form: FigureForm,
    pub(crate) x: FigureAxis,
    pub(crate) y: FigureAxis,
    /// Returns the values of an experiment; none where it is not in the figure.
    pub(crate) of: fn(&ClaimEvidence, &Experiment) -> Result<Vec<FigureValue>, MissingEvidence>,
    pub(crate) paper: Vec<StatedValue>,
    pub(crate) note: &'static str,
}

/// The vertical axis of most figures.
pub(crate) const LATENCY: FigureAxis = FigureAxis {
    title: "latency",
    unit: "µs",
};

impl FigurePlan {
    /// Fills the figure from the measured evidence; experiments without results are left out.
    /// Returns `None` where there is nothing to draw.
    pub(crate) fn draw(
        self,
        evidence: &ClaimEvidence,
        experiments: &[Experiment],
    ) -> Option<ClaimFigure> {
        let mut series: Vec<FigureSeries> = Vec::new();
        for experiment in experiments {
            let gateway = experiment.gateway.to_string();
            for value in (self.of)(evidence, experiment).unwrap_or_default() {
                let profile = self.form == FigureForm::Profile;
                let name = experiment.name();
                let known = series
                    .iter_mut()
                    .find(|s| !profile && s.gateway == gateway && s.setting == value.setting);
                let point = FigurePoint {
                    x: value.x,
                    median: value.median,
                    worst: value.worst,
                    experiment: name.clone(),
                };
                match known {
                    Some(series) => series.points.push(point),
                    None => series.push(FigureSeries {
                        gateway: gateway.clone(),
                        setting: value.setting,
                        points: vec![point],
                        experiment: profile.then_some(name),
                    }),
                }
            }
        }
        for one in &mut series {
            // Names keep the order of the experiments.
            one.points.sort_by(|a, b| match (&a.x, &b.x) {
                (AxisPlace::Number(a), AxisPlace::Number(b)) => a.total_cmp(b),
                _ => std::cmp::Ordering::Equal,
            });
        }
        let results = experiments.iter().filter_map(|e| evidence.results(e).ok());
        let mut more = results.flat_map(|r| &r.description.more);
        let clock = more.find(|(name, _)| name == "clock");
        (!series.is_empty()).then_some(ClaimFigure {
            clock: clock.map(|(_, value)| value.clone()).unwrap_or_default(),
            title: self.title,
            form: self.form,
            x: self.x,
            y: self.y,
            series,
            paper: self.paper,
            note: self.note,
        })
    }
}

/// Returns an axis.
pub(crate) const fn axis(title: &'static str, unit: &'static str) -> FigureAxis {
    FigureAxis { title, unit }
}

/// Returns one value without a worst case.
pub(crate) fn one(
    setting: impl Into<String>,
    x: AxisPlace,
    median: f64,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    Ok(vec![FigureValue {
        setting: setting.into(),
        x,
        median,
        worst: None,
    }])
}

/// Returns the place of a number.
pub(crate) fn number(n: impl Into<f64>) -> AxisPlace {
    AxisPlace::Number(n.into())
}

/// Returns the place of a name.
pub(crate) fn name(text: impl Into<String>) -> AxisPlace {
    AxisPlace::Name(text.into())
}

/// Plans a figure of latency profiles, whose series are given by `of`.
pub(crate) const fn profile(
    title: &'static str,
    of: fn(&ClaimEvidence, &Experiment) -> Result<Vec<FigureValue>, MissingEvidence>,
    paper: Vec<StatedValue>,
) -> FigurePlan {
    FigurePlan {
        title,
        form: FigureForm::Profile,
        x: LATENCY,
        y: axis("frames with this latency or more", "frames"),
        of,
        paper,
        note: "",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::claim::Claim;
    use crate::evidence::ClaimEvidence;
    use crate::extent::Extent;
    use crate::list;
    use experiment::trial::FailedGuest;
    use experiment::{Experiment, fake};

    use super::*;

    /// Returns the median of a series, by its gateway and setting, at a place.
    pub(crate) fn at(figure: &ClaimFigure, series: (&str, &str), x: &AxisPlace) -> f64 {
        let of = |s: &&FigureSeries| (s.gateway.as_str(), s.setting.as_str()) == series;
        let series = figure.series.iter().find(of).unwrap();
        series.points.iter().find(|p| p.x == *x).unwrap().median
    }

    /// Returns the figure of a claim where each experiment has this latency, ns.
    pub(crate) fn figure(id: &str, extent: Extent, of: impl Fn(&Experiment) -> u64) -> ClaimFigure {
        let all = list::all();
        let claim = all.iter().find(|c| c.id == id).unwrap();
        claim.picture(&evidence(claim, extent, of), extent).unwrap()
    }

    fn evidence(claim: &Claim, extent: Extent, of: impl Fn(&Experiment) -> u64) -> ClaimEvidence {
        let mut evidence = ClaimEvidence::default();
        for e in claim.needs(extent) {
            let records = fake::records(9, of(&e));
            let mut results = fake::results(records);
            let bus = ("time on the bus, ns".to_owned(), "100000".to_owned());
            results.description.more.push(bus);
            let own = (experiment::round_trip::OWN.to_owned(), "100000".to_owned());
            results.description.more.push(own);
            evidence.add(e, Ok(results));
        }
        evidence
    }

    #[test]
    fn the_claims_that_papers_draw_have_a_figure_with_the_papers_points() {
        let all = list::all();
        for id in [
            "G1", "G2", "G3", "G4", "G7", "G10", "G12", "D1", "D2", "S2", "V2", "V6",
        ] {
            let claim = all.iter().find(|c| c.id == id).unwrap();
            let made = evidence(claim, Extent::Full, |_| 500_000);
            let drawn = claim.picture(&made, Extent::Full);
            let drawn = drawn.unwrap_or_else(|| panic!("{id} has no figure"));
            assert!(!drawn.paper.is_empty(), "{id}");
            assert!(!drawn.y.unit.is_empty(), "{id}");
            for stated in &drawn.paper {
                assert!(stated.source.contains(" §"), "{id}: {}", stated.source);
                assert_eq!(
                    stated.y.is_none(),
                    drawn.form == FigureForm::Profile,
                    "{id}"
                );
            }
            for series in &drawn.series {
                let profile = drawn.form == FigureForm::Profile;
                assert_eq!(series.experiment.is_some(), profile, "{id}");
                assert!(!series.points.is_empty(), "{id}");
            }
        }
    }

    #[test]
    fn the_points_are_the_measured_medians_over_the_parameter() {
        let figure = figure("G4", Extent::Full, |e| {
            30_000 + 50 * u64::from(e.filters.count().unwrap_or(0))
        });
        let list = figure.series.iter().find(|s| s.setting == "list").unwrap();
        assert_eq!((list.gateway.as_str(), list.points.len()), ("cangw", 14));
        let last = list.points.last().unwrap();
        assert_eq!(
            (&last.x, last.median, last.worst),
            (&AxisPlace::Number(2048.0), 132.4, Some(132.4))
        );
        assert!(last.experiment.contains("list"), "{}", last.experiment);
        let sorted = list.points.iter().map(|p| match p.x {
            AxisPlace::Number(n) => n,
            AxisPlace::Name(_) => f64::NAN,
        });
        assert!(sorted.is_sorted());
        let json = serde_json::to_value(&figure).unwrap();
        assert_eq!(json["form"], "line");
        assert_eq!(json["paper"][0]["y"], 400.0);
        assert_eq!(json["paper"][0]["of"], "best");
    }

    #[test]
    fn what_failed_is_not_drawn_and_nothing_is_no_figure() {
        let all = list::all();
        let claim = all.iter().find(|c| c.id == "G4").unwrap();
        let mut evidence = ClaimEvidence::default();
        let needs = claim.needs(Extent::Quick);
        evidence.add(
            needs[0].clone(),
            Ok(fake::results(fake::records(5, 40_000))),
        );
        for e in &needs[1..] {
            evidence.add(e.clone(), Err(FailedGuest::without_console("it hung")));
        }
        let drawn = claim.picture(&evidence, Extent::Quick).unwrap();
        let points: usize = drawn.series.iter().map(|s| s.points.len()).sum();
        assert_eq!(points, 1);
        assert_eq!(
            claim.picture(&ClaimEvidence::default(), Extent::Quick),
            None
        );
    }
}
