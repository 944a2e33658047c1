//! What a chart is, before it is drawn.

/// Which clock a chart's times come from. One chart has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time of the embedded bus or of a virtual machine: the same on every run.
    Virtual,
    /// Time of this machine's clock.
    Real,
}

impl Clock {
    /// What stands in every chart.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Virtual => "bus time (virtual)",
            Self::Real => "real time",
        }
    }
}

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences.
    Linear,
    /// Equal distances for equal ratios; only values above 0 can be drawn.
    Log,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit: "latency (µs)".
    pub title: String,
    /// The unit by itself, for readouts.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// From where to where; taken from the data where `None`.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis that fits the data.
    #[must_use]
    pub fn linear(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            unit: unit.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// The same axis, logarithmic.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.scale = Scale::Log;
        self
    }

    /// The same axis from `low` to `high`.
    #[must_use]
    pub fn from_to(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// How a chart's points are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// Joined by straight lines.
    Line,
    /// As stairs that fall behind each point: a latency profile.
    Falling,
    /// As dots.
    Dots,
    /// As bars from 0 that begin at the point and are this wide (in units of x).
    Bars {
        /// The width.
        width: f64,
    },
}

/// One line, cloud of dots or row of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, as it came from outside.
    pub name: String,
    /// Which of the colours: the same thing has the same one in every chart of a page.
    pub colour: usize,
    /// Its points, in order of x.
    pub points: Vec<(f64, f64)>,
}

/// A chart, before it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name in files and links: lower-case letters, digits and hyphens.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What can be seen in it, for whoever does not see it.
    pub description: String,
    /// What the stamps mark, how points were thinned out: a line below the title.
    pub note: String,
    /// Which clock.
    pub clock: Clock,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// How points are drawn.
    pub mark: Mark,
    /// What is drawn.
    pub series: Vec<Series>,
}
