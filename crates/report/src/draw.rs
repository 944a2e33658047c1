//! A chart as SVG.
//!
//! `plotters` draws grid, ticks and data; text from outside, legend and everything that a page or
//! a screen reader needs is put around them here. Pictures are drawn ten times as large as they
//! are shown, because `plotters` knows whole pixels only.

use crate::labels::{self, Frame, Pixel};
use crate::model::{Chart, Mark};
use crate::text::{cut, escape};
use crate::thin::{cloud, extremes};
use crate::ticks::Settled;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fmt::Write;

/// Units of the picture for one pixel on the page.
const FINE: f64 = 10.0;

const INK: RGBColor = RGBColor(0x1B, 0x1B, 0x1B);
const MUTED: RGBColor = RGBColor(0x5A, 0x5A, 0x5A);
const AXIS: RGBColor = RGBColor(0x8A, 0x8A, 0x8A);
const GRID: RGBColor = RGBColor(0xE4, 0xE4, 0xE4);

/// Colours that remain different for colour-blind eyes, and in print on white (Okabe and Ito,
/// "Color universal design", 2008; their yellow is left out, it is too light for a line).
pub(crate) const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x00, 0x00, 0x00),
];

/// How large a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels of the plot from top to bottom, without title, legend and axis titles.
    pub plot: u32,
    /// Pixels of the font.
    pub font: f64,
    /// About how many ticks an axis gets: x, y.
    pub ticks: (usize, usize),
    /// The most dots of a cloud, all series together.
    pub dots: usize,
}

/// For a page, a screen or a paper's width.
pub const WIDE: Size = Size {
    width: 800,
    plot: 330,
    font: 14.0,
    ticks: (8, 6),
    dots: 3_000,
};

/// For a telephone held upright.
pub const PHONE: Size = Size {
    width: 340,
    plot: 260,
    font: 12.5,
    ticks: (4, 5),
    dots: 1_000,
};

/// A chart could not be drawn; what `plotters` said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw the chart: {0}")]
pub struct DrawError(String);

/// Draws a chart. The same chart gives the same bytes.
///
/// # Errors
/// [`DrawError`] where the library refuses; no data makes it do so.
pub fn svg(chart: &Chart, size: Size) -> Result<String, DrawError> {
    let pen = Pen { chart, size };
    // First with names beside the lines; with a legend where they find no place.
    match pen.draw(false)? {
        Some(picture) => Ok(picture),
        None => Ok(pen.draw(true)?.unwrap_or_default()),
    }
}

fn failed(error: impl std::fmt::Display) -> DrawError {
    DrawError(error.to_string())
}

/// Width of a text in pixels, about: DejaVu Sans, which is wider than most.
fn width(text: &str, font: f64) -> f64 {
    text.chars().count() as f64 * font * 0.6
}

/// Words in lines that are not wider than `most` pixels.
fn wrap(text: &str, font: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, font) + width(word, font) + font <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Fine units as pixels of the page.
fn scaled(f: Frame) -> Frame {
    Frame {
        left: f.left / FINE,
        top: f.top / FINE,
        right: f.right / FINE,
        bottom: f.bottom / FINE,
    }
}

struct Pen<'a> {
    chart: &'a Chart,
    size: Size,
}

/// Pixels above the plot, and what stands there.
struct Head {
    title: Vec<String>,
    note: Vec<String>,
    /// Rows of series' numbers.
    legend: Vec<Vec<usize>>,
    height: f64,
}

impl Pen<'_> {
    fn colour(&self, series: usize) -> RGBColor {
        let colour = self.chart.series.get(series).map_or(0, |s| s.colour);
        COLOURS[colour % COLOURS.len()]
    }

    fn name(&self, series: usize) -> String {
        let name = self
            .chart
            .series
            .get(series)
            .map_or("", |s| s.name.as_str());
        cut(name, if self.size.width < 500 { 30 } else { 48 })
    }

    fn label_width(&self, series: usize) -> f64 {
        width(&self.name(series), self.small()) + 26.0
    }

    fn small(&self) -> f64 {
        self.size.font * 0.86
    }

    fn named(&self) -> bool {
        self.chart.series.iter().any(|s| !s.name.is_empty())
    }

    fn head(&self, legend: bool) -> Head {
        let room = f64::from(self.size.width) - 8.0;
        let title = wrap(&self.chart.title, self.size.font * 1.12, room);
        let note = format!("{} · {}", self.chart.clock.words(), self.chart.note);
        let note = wrap(&note, self.small(), room);
        let mut rows: Vec<Vec<usize>> = Vec::new();
        let mut used = f64::MAX;
        for series in 0..if legend { self.chart.series.len() } else { 0 } {
            let wide = self.label_width(series) + 14.0;
            if used + wide > room {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += wide;
            if let Some(row) = rows.last_mut() {
                row.push(series);
            }
        }
        let height = title.len() as f64 * self.size.font * 1.45
            + (note.len() + rows.len()) as f64 * self.small() * 1.5
            + self.small() * 3.0;
        Head {
            title,
            note,
            legend: rows,
            height,
        }
    }

    /// `None` where names have no place beside their lines and no legend was asked for.
    fn draw(&self, legend: bool) -> Result<Option<String>, DrawError> {
        let legend = legend && self.named();
        let head = self.head(legend);
        let all = || {
            self.chart
                .series
                .iter()
                .flat_map(|s| s.points.iter().copied())
        };
        let bar = match self.chart.mark {
            Mark::Bars { width } => width,
            _ => 0.0,
        };
        let x = Settled::new(
            &self.chart.x,
            all().flat_map(|p| [p.0, p.0 + bar]),
            self.size.ticks.0,
        );
        let y = Settled::new(&self.chart.y, all().map(|p| p.1), self.size.ticks.1);
        let small = self.small();
        let widest = y
            .ticks
            .iter()
            .map(|t| width(&t.1, small))
            .fold(0.0, f64::max);
        let left = widest + 12.0;
        let last = x.ticks.last().map_or(0.0, |t| width(&t.1, small));
        let right = (last / 2.0 + 4.0).max(10.0);
        let below = small * 3.4;
        let height = head.height + f64::from(self.size.plot) + below;
        let picture = (
            (f64::from(self.size.width) * FINE) as u32,
            (height * FINE) as u32,
        );

        let mut drawn = String::new();
        let plot;
        {
            let root = SVGBackend::with_string(&mut drawn, picture).into_drawing_area();
            let area = root.margin(
                (head.height * FINE) as i32,
                ((below - small * 1.7) * FINE) as i32,
                0,
                (right * FINE) as i32,
            );
            plot = self.plot(&area, &x, &y, (left * FINE) as u32)?;
            root.present().map_err(failed)?;
        }

        let mut labels = String::new();
        if !legend && self.named() {
            let lines = self.pixels(&x, &y, plot);
            let widths: Vec<f64> = (0..lines.len())
                .map(|s| self.label_width(s) * FINE)
                .collect();
            // Dots and bars cover areas: names beside them would stand in them.
            if !matches!(self.chart.mark, Mark::Line | Mark::Falling) {
                return Ok(None);
            }
            let Some(places) = labels::place(&lines, &widths, small * 1.25, scaled(plot)) else {
                return Ok(None);
            };
            for (series, place) in places.iter().enumerate() {
                let y = f64::midpoint(place.top, place.bottom);
                self.swatch(&mut labels, series, place.left, y);
            }
        }
        self.head_svg(&mut labels, &head);
        let centre = f64::midpoint(plot.left, plot.right) / FINE;
        self.text(
            &mut labels,
            &self.chart.x.title,
            (centre, height - small * 0.5),
            small,
            INK,
            "middle",
        );
        self.text(
            &mut labels,
            &self.chart.y.title,
            (2.0, head.height - small * 1.0),
            small,
            INK,
            "start",
        );
        Ok(Some(self.wrapped(&drawn, &labels, picture, &x, &y, plot)))
    }

    /// Grid, ticks and data; gives back where the plot is, in fine units.
    fn plot(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        x: &Settled,
        y: &Settled,
        left: u32,
    ) -> Result<Frame, DrawError> {
        let small = self.small() * FINE;
        let mut chart = ChartBuilder::on(area)
            .set_label_area_size(LabelAreaPosition::Left, left)
            .set_label_area_size(LabelAreaPosition::Bottom, (small * 1.7) as u32)
            .build_cartesian_2d(x.clone(), y.clone())
            .map_err(failed)?;
        // plotters divides a font's size by 1.24 for SVG.
        let style = ("sans-serif", small * 1.24).into_font().color(&MUTED);
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(GRID.stroke_width(FINE as u32))
            .axis_style(AXIS.stroke_width(FINE as u32))
            .set_all_tick_mark_size((4.0 * FINE) as i32)
            .label_style(style)
            .draw()
            .map_err(failed)?;
        for series in 0..self.chart.series.len() {
            let colour = self.colour(series);
            let points = self.positions(series, x, y);
            match self.chart.mark {
                Mark::Line | Mark::Falling => {
                    let style = colour.stroke_width((1.8 * FINE) as u32);
                    chart
                        .draw_series(LineSeries::new(points, style))
                        .map(|_| ())
                }
                Mark::Dots => {
                    let dot = |p| Circle::new(p, (1.6 * FINE) as i32, colour.mix(0.75).filled());
                    chart.draw_series(points.into_iter().map(dot)).map(|_| ())
                }
                Mark::Bars { width } => {
                    let bar = |(at, top): (f64, f64)| {
                        Rectangle::new([(at, y.low), (at + width, top)], colour.filled())
                    };
                    chart.draw_series(points.into_iter().map(bar)).map(|_| ())
                }
            }
            .map_err(failed)?;
        }
        let (across, down) = chart.plotting_area().get_pixel_range();
        Ok(Frame {
            left: f64::from(across.start),
            right: f64::from(across.end),
            top: f64::from(down.start),
            bottom: f64::from(down.end),
        })
    }

    /// A series' points as positions on the axes, thinned out or made into stairs.
    fn positions(&self, series: usize, x: &Settled, y: &Settled) -> Vec<(f64, f64)> {
        let Some(series) = self.chart.series.get(series) else {
            return Vec::new();
        };
        let place = |p: &(f64, f64)| Some((x.position(p.0)?, y.position(p.1)?));
        let points: Vec<(f64, f64)> = series.points.iter().filter_map(place).collect();
        match self.chart.mark {
            Mark::Dots => cloud(&points, self.size.dots / self.chart.series.len().max(1)),
            Mark::Line => extremes(&points, self.size.width as usize),
            Mark::Bars { .. } => points,
            Mark::Falling => {
                let mut stairs = Vec::with_capacity(2 * points.len());
                for (index, &(at, level)) in points.iter().enumerate() {
                    let next = points.get(index + 1).map_or(y.low, |p| p.1);
                    stairs.push((at, level));
                    stairs.push((at, next));
                }
                stairs
            }
        }
    }

    /// Every series' line in the page's pixels.
    fn pixels(&self, x: &Settled, y: &Settled, plot: Frame) -> Vec<Vec<Pixel>> {
        let plot = scaled(plot);
        let across = (plot.right - plot.left) / (x.high - x.low);
        let down = (plot.bottom - plot.top) / (y.high - y.low);
        let pixel = |(px, py): (f64, f64)| {
            (
                plot.left + (px - x.low) * across,
                plot.bottom - (py - y.low) * down,
            )
        };
        (0..self.chart.series.len())
            .map(|series| {
                self.positions(series, x, y)
                    .into_iter()
                    .map(pixel)
                    .collect()
            })
            .collect()
    }

    fn head_svg(&self, out: &mut String, head: &Head) {
        let mut y = 0.0;
        let font = self.size.font * 1.12;
        for line in &head.title {
            y += self.size.font * 1.45;
            self.text(
                out,
                line,
                (2.0, y - self.size.font * 0.3),
                font,
                INK,
                "start",
            );
        }
        for line in &head.note {
            y += self.small() * 1.5;
            self.text(
                out,
                line,
                (2.0, y - self.small() * 0.3),
                self.small(),
                MUTED,
                "start",
            );
        }
        for row in &head.legend {
            y += self.small() * 1.5;
            let mut x = 2.0;
            for &series in row {
                self.swatch(out, series, x, y - self.small() * 0.6);
                x += self.label_width(series) + 14.0;
            }
        }
    }

    /// A short line in the series' colour, and its name.
    fn swatch(&self, out: &mut String, series: usize, left: f64, middle: f64) {
        let (x1, x2, y) = ((left + 2.0) * FINE, (left + 18.0) * FINE, middle * FINE);
        let RGBColor(r, g, b) = self.colour(series);
        let _ = writeln!(
            out,
            "<line x1=\"{x1:.0}\" x2=\"{x2:.0}\" y1=\"{y:.0}\" y2=\"{y:.0}\" stroke=\"#{r:02X}{g:02X}{b:02X}\" stroke-width=\"{:.0}\"/>",
            3.0 * FINE
        );
        let at = (left + 22.0, middle + self.small() * 0.36);
        self.text(out, &self.name(series), at, self.small(), INK, "start");
    }

    fn text(
        &self,
        out: &mut String,
        text: &str,
        at: Pixel,
        font: f64,
        colour: RGBColor,
        anchor: &str,
    ) {
        let RGBColor(r, g, b) = colour;
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" font-size=\"{:.0}\" fill=\"#{r:02X}{g:02X}{b:02X}\">{}</text>",
            at.0 * FINE,
            at.1 * FINE,
            font * FINE,
            escape(text)
        );
    }

    /// The picture with a head of our own: sizes, title and description for screen readers, and
    /// what the page's script needs to read values from it.
    fn wrapped(
        &self,
        drawn: &str,
        labels: &str,
        picture: (u32, u32),
        x: &Settled,
        y: &Settled,
        plot: Frame,
    ) -> String {
        let body = drawn.split_once('>').map_or("", |(_, rest)| rest);
        let body = body.rsplit_once("</svg>").map_or(body, |(body, _)| body);
        let (width, height) = (f64::from(picture.0) / FINE, f64::from(picture.1) / FINE);
        let chart = self.chart;
        let axis = |a: &crate::model::Axis, s: &Settled| {
            let scale = match a.scale {
                crate::model::Scale::Linear => "linear",
                crate::model::Scale::Log => "log",
            };
            format!("{scale} {} {} {}", s.low, s.high, escape(&a.unit))
        };
        let mut series = String::new();
        for index in 0..chart.series.len() {
            let RGBColor(r, g, b) = self.colour(index);
            let name = escape(&self.name(index));
            let _ = write!(
                series,
                " data-c{index}=\"#{r:02X}{g:02X}{b:02X}\" data-n{index}=\"{name}\""
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {} {}\" role=\"img\" data-plot=\"{:.0} {:.0} {:.0} {:.0}\" \
             data-x=\"{}\" data-y=\"{}\"{series}>\n<title>{}</title>\n<desc>{}</desc>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>{body}{labels}</svg>\n",
            picture.0,
            picture.1,
            plot.left,
            plot.top,
            plot.right,
            plot.bottom,
            axis(&chart.x, x),
            axis(&chart.y, y),
            escape(&format!("{} ({})", chart.title, chart.clock.words())),
            escape(&chart.description),
        )
    }
}
