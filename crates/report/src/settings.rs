//! The settings of an experiment, and the clock of its times.

use probe::RunDescription;
use serde::Serialize;

/// The settings that can be filtered by, in display order.
pub(crate) const KNOWN: [&str; 25] = [
    "kernel",
    "bench",
    "task",
    "gateway",
    "traffic",
    "log",
    "load",
    "payload",
    "filters",
    "modify",
    "hops",
    "cpu",
    "priority",
    "tuning",
    "boot",
    "machines",
    "others",
    "order",
    "budget",
    "incident",
    "frames",
    "seed",
    "stamp-every",
    "clock",
    "apart",
];

/// The clock of an experiment's times. Times of different clocks never share a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeBase {
    /// Time of a simulated bus or of a virtual machine: the same on every run.
    Virtual,
    /// Time of a machine's clock.
    Real,
    /// The results do not state a clock.
    Unstated,
}

impl TimeBase {
    /// Determines the clock from the setting `clock`; else from the words of the description.
    #[must_use]
    pub fn from_description(description: &RunDescription) -> Self {
        let words = value(description, "clock").unwrap_or(&description.time_base);
        let words = words.to_lowercase();
        let simulated = ["virtual", "simulated"].iter().any(|w| words.contains(w));
        match (simulated, words.contains("real")) {
            (true, false) => Self::Virtual,
            (false, true) => Self::Real,
            _ => Self::Unstated,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
            Self::Unstated => "",
        }
    }
}

fn value<'a>(description: &'a RunDescription, key: &str) -> Option<&'a str> {
    let found = description.more.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value.as_str())
}

/// Returns the values of [`KNOWN`], empty if not stated.
pub(crate) fn settings(description: &RunDescription) -> Vec<String> {
    let alone = value(description, "machines").is_none_or(|count| count == "1");
    let setting = |key: &&str| match *key {
        "clock" => TimeBase::from_description(description).word().to_owned(),
        "seed" => value(description, key).map_or_else(|| description.seed.to_string(), Into::into),
        // Settings of other machines have no meaning if there are none.
        "machines" | "others" | "order" | "budget" | "incident" if alone => String::new(),
        _ => value(description, key).unwrap_or("").to_owned(),
    };
    KNOWN.iter().map(setting).collect()
}

/// Returns all information about an experiment, for its details: names and texts.
pub(crate) fn everything(d: &RunDescription) -> Vec<(String, String)> {
    let fixed = [
        ("Title", d.title.clone()),
        ("Command", d.command.clone()),
        ("Version", d.version.clone()),
        ("Traffic", d.traffic.clone()),
        ("Bit rates", d.bit_rates.clone()),
        ("Seed", d.seed.to_string()),
        ("Time base", d.time_base.clone()),
        ("What a stamp marks", d.stamp.clone()),
        ("What the method cannot see", d.blind_spots.clone()),
    ];
    let fixed = fixed
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text));
    let known = |key: &str| KNOWN.iter().position(|k| *k == key);
    let mut more: Vec<_> = d.more.iter().collect();
    more.sort_by_key(|(key, _)| (known(key).unwrap_or(KNOWN.len()), key.clone()));
    let config = [("Configuration".to_owned(), d.config.clone())];
    fixed
        .chain(more.into_iter().cloned())
        .chain(config)
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(time_base: &str, clock: Option<&str>) -> RunDescription {
        RunDescription {
            time_base: time_base.into(),
            more: clock
                .map(|c| ("clock".into(), c.into()))
                .into_iter()
                .collect(),
            ..RunDescription::default()
        }
    }

    #[test]
    fn the_clock_is_taken_from_words_only_where_it_is_not_stated() {
        let of = |time_base, clock| TimeBase::from_description(&described(time_base, clock));
        assert_eq!(of("real time", Some("virtual")), TimeBase::Virtual);
        assert_eq!(of("Bus time: virtual", None), TimeBase::Virtual);
        assert_eq!(of("bus time (simulated)", None), TimeBase::Virtual);
        assert_eq!(of("real time (kernel stamps)", None), TimeBase::Real);
        assert_eq!(of("virtual or real, who knows", None), TimeBase::Unstated);
        assert_eq!(of("real time", Some("sundial")), TimeBase::Unstated);
    }

    #[test]
    fn missing_settings_are_empty_and_unknown_ones_are_in_the_details() {
        let mut d = described("", Some("real"));
        d.seed = 7;
        d.more.push(("weather".into(), "fine".into()));
        d.more.push(("kernel".into(), "6.1".into()));
        let all = settings(&d);
        let of = |name: &str| all[KNOWN.iter().position(|known| *known == name).unwrap()].as_str();
        assert_eq!((of("kernel"), of("bench")), ("6.1", ""));
        assert_eq!((of("seed"), of("clock")), ("7", "real"));
        let names: Vec<String> = everything(&d).into_iter().map(|e| e.0).collect();
        assert_eq!(names, ["Seed", "kernel", "clock", "weather"]);
    }
    #[test]
    fn what_others_do_is_shown_where_there_are_some() {
        let of = |machines: &str| {
            let mut d = described("", None);
            d.more.push(("machines".into(), machines.into()));
            d.more.push(("others".into(), "flood".into()));
            let all = settings(&d);
            KNOWN
                .iter()
                .position(|known| *known == "others")
                .map(|at| all[at].clone())
        };
        assert_eq!(of("1").as_deref(), Some(""));
        assert_eq!(of("2").as_deref(), Some("flood"));
    }
}
