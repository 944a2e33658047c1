//! `kind = "bus"`: a node on a bus of the embedded bus model.

use config::{At, Diagnostic, Diagnostics, Table};

/// The lowest nominal bit rate, bits per second; slower buses are most likely a slip of a unit.
const LOWEST: u32 = 5_000;
/// The highest nominal bit rate, bits per second (ISO 11898-1).
const HIGHEST: u32 = 1_000_000;
/// The highest bit rate of the data phase, bits per second (CAN FD with SIC transceivers).
const HIGHEST_DATA: u32 = 8_000_000;

/// A node on a bus of the embedded bus model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusSpec {
    /// The bus's name; ports with the same name share a bus. By default the port's name.
    pub bus: String,
    /// Nominal bit rate in bits per second, 5000 to 1000000; default 500000. All ports on a bus
    /// agree on it.
    pub bitrate: u32,
    /// Bit rate of the data phase in bits per second, up to 8000000, at least the nominal one;
    /// makes the bus an FD bus. All ports on a bus agree on it.
    pub data_bitrate: Option<u32>,
    /// Frames that wait in front of the transmit mailboxes; 1 to 65536, default 10 (Linux's
    /// queue length of a CAN interface).
    pub queue: u32,
    /// Transmit mailboxes, from which the highest priority goes first; 1 to 32, default 3 (as
    /// the MSCAN controllers of the papers have).
    pub mailboxes: u8,
}

impl BusSpec {
    pub(super) fn parse(port: &str, table: &mut Table<'_>, found: &mut Diagnostics) -> Self {
        let bus = table.string("bus", found);
        if let Some(name) = &bus
            && (name.value.is_empty() || name.value.len() > super::LONGEST_NAME)
        {
            let message = format!(
                "the name of a bus has 1 to {} characters",
                super::LONGEST_NAME
            );
            found.push(Diagnostic::error(name.span.clone(), message));
        }
        let bitrate = table.bitrate("bitrate", found);
        if let Some(rate) = &bitrate {
            within(rate, "bitrate", LOWEST, HIGHEST, found);
        }
        let nominal = bitrate.map_or(500_000, |rate| rate.value);
        let data_bitrate = table.bitrate("data_bitrate", found);
        if let Some(rate) = &data_bitrate
            && within(rate, "data_bitrate", LOWEST, HIGHEST_DATA, found)
            && rate.value < nominal
        {
            let message = "the data phase cannot be slower than the arbitration phase";
            let hint = format!("`bitrate` is {}", words(nominal));
            found.push(Diagnostic::error(rate.span.clone(), message).hint(hint));
        }
        let queue = super::queue(table, 10, found);
        let mailboxes = table
            .integer("mailboxes", 1..=32, found)
            .map_or(3, |n| n.value as u8);
        Self {
            bus: bus.map_or(port, |b| b.value).to_owned(),
            bitrate: nominal,
            data_bitrate: data_bitrate.map(|rate| rate.value),
            queue,
            mailboxes,
        }
    }

    pub(super) fn describe(&self) -> String {
        let data = self
            .data_bitrate
            .map(|rate| format!(", data phase {}", words(rate)))
            .unwrap_or_default();
        format!(
            "embedded bus {} at {}{data}; {} mailboxes, up to {} frames wait",
            self.bus,
            words(self.bitrate),
            self.mailboxes,
            self.queue
        )
    }
}

fn within(rate: &At<u32>, key: &str, low: u32, high: u32, found: &mut Diagnostics) -> bool {
    if (low..=high).contains(&rate.value) {
        return true;
    }
    let message = format!("`{key}` must be from {} to {}", words(low), words(high));
    let label = format!("this is {}", words(rate.value));
    found.push(Diagnostic::error(rate.span.clone(), message).label(label));
    false
}

fn words(rate: u32) -> String {
    if rate >= 1_000_000 && rate.is_multiple_of(100_000) {
        format!("{} Mbit/s", f64::from(rate) / 1e6)
    } else if rate >= 1000 {
        format!("{} kbit/s", f64::from(rate) / 1e3)
    } else {
        format!("{rate} bit/s")
    }
}
