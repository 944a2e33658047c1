//! The page: one file, no network.

use crate::data::{Account, BusRow, Data, RouteRow};
use crate::draw::{self, DrawError, PHONE, WIDE};
use crate::model::Chart;
use crate::text::{count, escape, micros};
use probe::{LatencyProfile, Status};
use std::fmt::Write;

const STYLE: &str = concat!(include_str!("palette.css"), include_str!("page.css"));
const SCRIPT: &str = concat!(include_str!("save.js"), include_str!("page.js"));

/// The whole page. The same data gives the same bytes.
///
/// # Errors
/// [`DrawError`].
pub fn html(data: &Data, charts: &[Chart]) -> Result<String, DrawError> {
    let title = escape(&data.results.description.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src blob: data:\">\n\
         <meta name=\"generator\" content=\"cangate {}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escape(&data.results.description.version)
    );
    head(&mut page, data, &title);
    routes(&mut page, data);
    for chart in charts {
        figure(&mut page, chart)?;
    }
    if data.results.latencies(None).next().is_none() {
        page.push_str("<p>No frame came in and went out, so there is no latency to draw.</p>\n");
    }
    accounts(&mut page, data);
    buses(&mut page, &data.buses);
    made(&mut page, data);
    let _ = write!(
        page,
        "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    Ok(page)
}

fn head(page: &mut String, data: &Data, title: &str) {
    let records = &data.results.records;
    let delivered = records
        .iter()
        .filter(|r| r.status == Status::Delivered)
        .count();
    let first = records
        .iter()
        .filter_map(|r| r.incoming)
        .map(|f| f.end)
        .min();
    let last = records
        .iter()
        .filter_map(|r| r.outgoing)
        .map(|f| f.end)
        .max();
    let seconds = first
        .zip(last)
        .map_or(0.0, |(a, b)| b.saturating_sub(a) as f64 / 1e9);
    let _ = writeln!(
        page,
        "<header>\n<h1>{title}</h1>\n<p class=\"lead\">{} rows, one for each frame and destination, \
         over {seconds:.3} s of {}; {} delivered.</p>",
        count(records.len() as u64),
        data.clock.words(),
        count(delivered as u64)
    );
    if !data.notes.is_empty() {
        page.push_str("<ul class=\"notes\">\n");
        for note in &data.notes {
            let _ = writeln!(page, "<li>{}</li>", escape(note));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</header>\n");
}

/// A table whose rows become cards on a narrow screen. Roles are written out because some
/// browsers forget what a table is when its display is changed.
struct Table<'a> {
    page: &'a mut String,
    heads: &'a [&'a str],
}

impl<'a> Table<'a> {
    fn new(page: &'a mut String, caption: &str, heads: &'a [&'a str]) -> Self {
        let _ = write!(
            page,
            "<table role=\"table\">\n<caption>{caption}</caption>\n<thead role=\"rowgroup\"><tr role=\"row\">"
        );
        for head in heads {
            let _ = write!(page, "<th role=\"columnheader\" scope=\"col\">{head}</th>");
        }
        page.push_str("</tr></thead>\n<tbody role=\"rowgroup\">\n");
        Self { page, heads }
    }

    /// Cells are HTML already; the first one is the row's name.
    fn row(&mut self, cells: &[String]) {
        self.page.push_str("<tr role=\"row\">");
        for (index, (cell, head)) in cells.iter().zip(self.heads).enumerate() {
            let _ = if index == 0 {
                write!(
                    self.page,
                    "<th role=\"rowheader\" scope=\"row\">{cell}</th>"
                )
            } else {
                write!(
                    self.page,
                    "<td role=\"cell\" data-head=\"{head}\">{cell}</td>"
                )
            };
        }
        self.page.push_str("</tr>\n");
    }

    fn end(self) {
        self.page.push_str("</tbody>\n</table>\n");
    }
}

fn routes(page: &mut String, data: &Data) {
    let _ = writeln!(page, "<section>\n<h2>Routes</h2>");
    let caption = format!(
        "Frames of each route, and their latency in µs of {}. Quantiles are by nearest rank: \
         values that occurred.",
        data.clock.words()
    );
    let heads = [
        "route",
        "taken",
        "went out",
        "stopped",
        "delivered",
        "min µs",
        "p50 µs",
        "p99 µs",
        "max µs",
    ];
    let mut table = Table::new(page, &caption, &heads);
    for (index, route) in data.routes.iter().enumerate() {
        let index = u16::try_from(index).ok();
        let latencies = data.results.latencies(index).filter(|_| index.is_some());
        table.row(&route_cells(route, &latencies.collect()));
    }
    if data.routes.len() > 1 {
        let all: LatencyProfile = data.results.latencies(None).collect();
        let sum =
            |of: fn(&RouteRow) -> u64| data.routes.iter().map(of).fold(0, u64::saturating_add);
        let total = RouteRow {
            name: "all routes".to_owned(),
            text: String::new(),
            taken: sum(|r| r.taken),
            out: sum(|r| r.out),
            stopped: vec![(String::new(), sum(stopped))],
        };
        table.row(&route_cells(&total, &all));
    }
    table.end();
    page.push_str("</section>\n");
}

fn stopped(route: &RouteRow) -> u64 {
    route
        .stopped
        .iter()
        .fold(0, |sum, s| sum.saturating_add(s.1))
}

fn route_cells(route: &RouteRow, latencies: &LatencyProfile) -> Vec<String> {
    let mut name = escape(&route.name);
    if !route.text.is_empty() {
        let _ = write!(name, "<span class=\"words\">{}</span>", escape(&route.text));
    }
    let mut why = count(stopped(route));
    for (reason, n) in route.stopped.iter().filter(|s| s.1 > 0 && !s.0.is_empty()) {
        let _ = write!(
            why,
            "<span class=\"words\">{} {}</span>",
            count(*n),
            escape(reason)
        );
    }
    let mut cells = vec![
        name,
        count(route.taken),
        count(route.out),
        why,
        count(latencies.count()),
    ];
    match latencies.summary() {
        Some(s) => cells.extend([s.min, s.p50, s.p99, s.max].map(micros)),
        None => cells.extend(["–"; 4].map(str::to_owned)),
    }
    cells
}

fn figure(page: &mut String, chart: &Chart) -> Result<(), DrawError> {
    let _ = writeln!(
        page,
        "<figure id=\"{id}\">\n<div class=\"chart wide\">{}</div>\n<div class=\"chart phone\">{}</div>\n\
         <figcaption><span class=\"words\">{}</span> \
         <span class=\"save\" hidden><button type=\"button\" data-save=\"svg\">Save SVG</button> \
         <button type=\"button\" data-save=\"png\">Save PNG</button></span>\
         <output class=\"readout\" aria-hidden=\"true\"></output></figcaption>\n</figure>",
        draw::svg(chart, WIDE)?,
        draw::svg(chart, PHONE)?,
        escape(&chart.description),
        id = chart.id,
    );
    Ok(())
}

fn accounts(page: &mut String, data: &Data) {
    page.push_str("<section>\n<h2>Where every frame went</h2>\n");
    let by_status = Account {
        title: "rows of the results".to_owned(),
        total: data.results.records.len() as u64,
        parts: data
            .results
            .fates()
            .into_iter()
            .map(|(status, n)| (status.as_str().to_owned(), n))
            .collect(),
    };
    page.push_str("<div class=\"accounts\">\n");
    for account in data.accounts.iter().chain([&by_status]) {
        let _ = write!(
            page,
            "<table class=\"account\">\n<caption>{}</caption>\n<tbody>\n",
            escape(&account.title)
        );
        for (name, n) in &account.parts {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                escape(name),
                count(*n)
            );
        }
        let verdict = if account.adds_up() {
            "<span class=\"good\">adds up</span>".to_owned()
        } else {
            format!(
                "<span class=\"bad\">does not add up: {} counted</span>",
                count(account.total)
            )
        };
        let _ = writeln!(
            page,
            "<tr class=\"sum\"><th scope=\"row\">sum <span class=\"words\">{verdict}</span></th><td>{}</td></tr>\n</tbody>\n</table>",
            count(account.sum())
        );
    }
    page.push_str("</div>\n</section>\n");
}

fn buses(page: &mut String, buses: &[BusRow]) {
    if buses.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Buses</h2>\n");
    let heads = [
        "bus",
        "bit rate",
        "frames",
        "error frames",
        "mean load %",
        "highest load %",
    ];
    let mut table = Table::new(
        page,
        "The highest load is that of one full window of the chart.",
        &heads,
    );
    for bus in buses {
        let mean = if bus.elapsed == 0 {
            0.0
        } else {
            bus.busy as f64 / bus.elapsed as f64 * 100.0
        };
        let highest = bus
            .full_windows()
            .map(probe::LoadPoint::share)
            .fold(0.0, f64::max)
            * 100.0;
        table.row(&[
            escape(&bus.name),
            escape(&bus.bit_rate),
            count(bus.frames),
            count(bus.errors),
            format!("{mean:.2}"),
            format!("{highest:.2}"),
        ]);
    }
    table.end();
    page.push_str("</section>\n");
}

fn made(page: &mut String, data: &Data) {
    let d = &data.results.description;
    page.push_str("<section>\n<h2>How this was made</h2>\n<dl>\n");
    let seed = d.seed.to_string();
    let fixed = [
        ("Command", &d.command, true),
        ("Version", &d.version, false),
        ("Seed", &seed, false),
        ("Traffic", &d.traffic, false),
        ("Bit rates", &d.bit_rates, false),
        ("Time base", &d.time_base, false),
        ("What a stamp marks", &d.stamp, false),
        ("What the method cannot see", &d.blind_spots, false),
    ];
    let more = d
        .more
        .iter()
        .map(|(name, value)| (name.as_str(), value, false));
    for (name, value, code) in fixed.into_iter().chain(more).filter(|f| !f.1.is_empty()) {
        let (open, close) = if code {
            ("<code>", "</code>")
        } else {
            ("", "")
        };
        let _ = writeln!(
            page,
            "<dt>{}</dt><dd>{open}{}{close}</dd>",
            escape(name),
            escape(value)
        );
    }
    page.push_str(
        "<dt>Latency</dt><dd>End of the outgoing frame minus end of the incoming frame minus the \
         outgoing frame's duration (stuff bits included, without intermission).</dd>\n\
         <dt>Latency profile</dt><dd>For a latency t, how many frames had t or more.</dd>\n\
         <dt>Processing time</dt><dd>Real time that the CPU took for a frame on the machine that \
         made the run. It is not part of the latency and never added to it.</dd>\n</dl>\n",
    );
    if !d.config.is_empty() {
        let _ = writeln!(
            page,
            "<details>\n<summary>Configuration</summary>\n<pre><code>{}</code></pre>\n</details>",
            escape(&d.config)
        );
    }
    page.push_str("<p>Every frame's stamps are in <code>results.parquet</code> beside this page.</p>\n</section>\n");
}
