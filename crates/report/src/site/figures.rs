//! The claims' figures, as `claims.json` contains them: measurements over a parameter, and the
//! points that a paper states. This module knows no particular claim.

use super::digest::IndexLine;
use super::lookup::ExperimentLookup;
use serde::{Deserialize, Serialize};

/// A claim's figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ClaimFigure {
    title: String,
    form: FigureForm,
    x: FigureAxis,
    y: FigureAxis,
    /// The clock of its times, if its experiments are not in the folder.
    #[serde(default)]
    clock: String,
    series: Vec<FigureSeries>,
    #[serde(default)]
    paper: Vec<StatedValue>,
    #[serde(default)]
    note: String,
}

/// The kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FigureForm {
    Line,
    Named,
    Bars,
    Profile,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FigureAxis {
    title: String,
    #[serde(default)]
    unit: String,
}

/// A position on the axis: a number or a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum AxisPlace {
    Number(f64),
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FigureSeries {
    gateway: String,
    #[serde(default)]
    setting: String,
    #[serde(default)]
    points: Vec<FigurePoint>,
    /// The experiment whose profile is drawn.
    #[serde(default)]
    experiment: Option<ExperimentRef>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FigurePoint {
    x: AxisPlace,
    median: f64,
    #[serde(default)]
    worst: Option<f64>,
    experiment: ExperimentRef,
}

/// An experiment by its name; on the page by its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum ExperimentRef {
    Name(String),
    #[serde(skip_deserializing)]
    Place(Option<usize>),
}

impl ExperimentRef {
    fn find(&mut self, lookup: &ExperimentLookup<'_>) {
        if let Self::Name(name) = self {
            *self = Self::Place(lookup.find(name));
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StatedValue {
    #[serde(default)]
    name: String,
    x: AxisPlace,
    #[serde(default)]
    y: Option<f64>,
    of: FigureKind,
    source: String,
}

/// The figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FigureKind {
    Best,
    Median,
    Worst,
    Value,
}

/// A figure as the page draws it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FigureRow {
    /// The claims that it belongs to: `G4`, `G4/bpf`.
    claims: Vec<String>,
    #[serde(flatten)]
    figure: ClaimFigure,
}

/// Returns the claim's ID without the part that names a way through the gateway.
fn family(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// Returns a figure for each family of claims: the series of `G4/bpf` are drawn together with those
/// of `G4`.
pub(super) fn rows(figures: Vec<(String, ClaimFigure)>, lines: &[IndexLine]) -> Vec<FigureRow> {
    let lookup = ExperimentLookup::new(lines);
    let mut rows: Vec<FigureRow> = Vec::new();
    for (id, mut figure) in figures {
        for series in &mut figure.series {
            if let Some(experiment) = &mut series.experiment {
                experiment.find(&lookup);
            }
            for point in &mut series.points {
                point.experiment.find(&lookup);
            }
        }
        let same = |row: &&mut FigureRow| {
            let other = &row.figure;
            row.claims.iter().any(|c| family(c) == family(&id))
                && (&other.title, other.form, &other.x, &other.y)
                    == (&figure.title, figure.form, &figure.x, &figure.y)
        };
        match rows.iter_mut().find(same) {
            Some(row) => {
                row.claims.push(id);
                for series in figure.series {
                    let known = row.figure.series.iter();
                    let key = |s: &FigureSeries| (s.gateway.clone(), s.setting.clone());
                    if !known.clone().any(|s| key(s) == key(&series)) {
                        row.figure.series.push(series);
                    }
                }
            }
            None => rows.push(FigureRow {
                claims: vec![id],
                figure,
            }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::digest::digest;
    use super::*;
    use probe::RunResults;

    fn figure(gateways: &[&str]) -> ClaimFigure {
        let series = gateways.iter().map(|gateway| {
            serde_json::json!({"gateway": gateway, "setting": "list", "points": [
                {"x": 1, "median": 30.5, "worst": 99, "experiment": format!("{gateway}.parquet")},
                {"x": 2048, "median": 130.0, "experiment": "gone"}]})
        });
        let text = serde_json::json!({"title": "t", "form": "line", "x": {"title": "filters"},
            "y": {"title": "latency", "unit": "µs"}, "series": series.collect::<Vec<_>>(),
            "paper": [{"name": "list", "x": 2048, "y": 400, "of": "best", "source": "p §1"}]});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_family_shares_a_figure_and_experiments_are_found() {
        let lines = ["cangw", "bpf"].map(|name| digest(name, &RunResults::default()).0);
        let figures = vec![
            ("G4".to_owned(), figure(&["cangw"])),
            ("G4/bpf".to_owned(), figure(&["bpf", "cangw"])),
            ("G40".to_owned(), figure(&["cangw"])),
        ];
        let rows = rows(figures, &lines);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].claims, ["G4", "G4/bpf"]);
        let shown = serde_json::to_value(&rows[0]).unwrap();
        let series = shown["series"].as_array().unwrap();
        assert_eq!(series.len(), 2, "can-gw's once: {shown}");
        assert_eq!(series[0]["points"][0]["experiment"], 0);
        assert_eq!(series[1]["points"][0]["experiment"], 1);
        assert!(series[1]["points"][1]["experiment"].is_null());
        assert_eq!(shown["paper"][0]["y"], 400.0);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for (key, value) in [
            ("form", serde_json::json!("pie")),
            ("series", serde_json::json!({})),
            ("y", serde_json::json!(7)),
        ] {
            let mut json = serde_json::to_value(figure(&["cangw"])).unwrap();
            json[key] = value;
            assert!(
                serde_json::from_value::<ClaimFigure>(json).is_err(),
                "{key}"
            );
        }
    }
}
