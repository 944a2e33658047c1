//! The arguments of a character device's calls, byte for byte (`kmod/canchar/canchar.h`).

use super::{CharControl, CharInfo, CharStats};

/// `CANCHAR_VERSION`.
pub(super) const VERSION: u32 = 1;
/// Size of `struct canchar_area` in bytes.
pub const AREA: usize = 128 + 2 * super::SLOTS as usize * super::SLOT;
/// The largest number of filters of a file.
pub(super) const FILTERS: usize = 64;

const LISTEN_ONLY: u32 = 1;
const ONE_SHOT: u32 = 2;
const FD: u32 = 4;
const BUS_ERRORS: u32 = 8;
const PRIORITY: u32 = 16;

/// `struct canchar_control`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct RawControl {
    version: u32,
    flags: u32,
    bitrate: u32,
    data_bitrate: u32,
    sample_point: u32,
    data_sample_point: u32,
    restart_ms: u32,
    reserved: u32,
}

impl RawControl {
    pub(super) fn new(control: &CharControl) -> Self {
        let flags = [
            (control.listen_only, LISTEN_ONLY),
            (control.one_shot, ONE_SHOT),
            (control.data_bitrate.is_some(), FD),
            (control.bus_errors, BUS_ERRORS),
            (control.by_priority, PRIORITY),
        ];
        Self {
            version: VERSION,
            flags: flags.iter().map(|(set, flag)| u32::from(*set) * flag).sum(),
            bitrate: control.bitrate,
            data_bitrate: control.data_bitrate.unwrap_or(0),
            sample_point: control.sample_point,
            data_sample_point: control.data_sample_point,
            restart_ms: control.restart_ms,
            reserved: 0,
        }
    }

    fn read(self) -> Option<CharControl> {
        let has = |flag| self.flags & flag != 0;
        (self.bitrate != 0).then(|| CharControl {
            bitrate: self.bitrate,
            data_bitrate: has(FD).then_some(self.data_bitrate),
            sample_point: self.sample_point,
            data_sample_point: self.data_sample_point,
            restart_ms: self.restart_ms,
            listen_only: has(LISTEN_ONLY),
            one_shot: has(ONE_SHOT),
            bus_errors: has(BUS_ERRORS),
            by_priority: has(PRIORITY),
        })
    }
}

/// `struct canchar_filters`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawFilters {
    count: u32,
    errors: u32,
    flags: u32,
    reserved: u32,
    filter: [[u32; 2]; FILTERS],
}

impl RawFilters {
    /// `CANCHAR_WANT_SENT`: the file also gets frames that other programs of this machine send, as
    /// a socket does.
    const WANT_SENT: u32 = 1;

    /// Converts the filters; `None` where there are more than fit.
    pub(super) fn new(filters: &[(u32, u32)], errors: u32) -> Option<Self> {
        let mut raw = Self {
            count: u32::try_from(filters.len()).ok()?,
            errors,
            flags: Self::WANT_SENT,
            reserved: 0,
            filter: [[0; 2]; FILTERS],
        };
        let to = raw.filter.get_mut(..filters.len())?;
        for (to, (id, mask)) in to.iter_mut().zip(filters) {
            *to = [*id, *mask];
        }
        Some(raw)
    }
}

/// `struct canchar_info`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct RawInfo {
    version: u32,
    supports: u32,
    clock: u32,
    buffers: u32,
    fifo: u32,
    reserved: u32,
    controller: [u8; 32],
    bus: [u8; 32],
    control: RawControl,
}

impl RawInfo {
    pub(super) fn read(&self) -> CharInfo {
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
        };
        CharInfo {
            fd: self.supports & FD != 0,
            listen_only: self.supports & LISTEN_ONLY != 0,
            one_shot: self.supports & ONE_SHOT != 0,
            buffers: self.buffers,
            controller: text(&self.controller),
            bus: text(&self.bus),
            control: self.control.read(),
        }
    }
}

/// `struct canchar_stats`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct RawStats {
    received: u64,
    sent: u64,
    failed: u64,
    overruns: u64,
    bus_errors: u64,
    warnings: u64,
    passives: u64,
    bus_offs: u64,
    restarts: u64,
    arbitration_lost: u64,
    interrupts: u64,
    tec: u32,
    rec: u32,
    file_received: u64,
    file_lost: u64,
    file_filtered: u64,
    file_taken: u64,
    file_sent: u64,
    file_failed: u64,
}

impl RawStats {
    pub(super) const fn read(&self) -> CharStats {
        CharStats {
            received: self.received,
            sent: self.sent,
            failed: self.failed,
            overruns: self.overruns,
            bus_offs: self.bus_offs,
            tec: self.tec,
            rec: self.rec,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_headers() {
        assert_eq!(size_of::<RawControl>(), 32);
        assert_eq!(size_of::<RawFilters>(), 16 + 64 * 8);
        assert_eq!(size_of::<RawInfo>(), 24 + 64 + 32);
        assert_eq!(size_of::<RawStats>(), 18 * 8);
        assert_eq!(AREA, 12_416);
    }

    #[test]
    fn settings_come_back() {
        let control = CharControl {
            bitrate: 500_000,
            data_bitrate: Some(2_000_000),
            by_priority: true,
            ..CharControl::default()
        };
        let raw = RawControl::new(&control);
        assert_eq!(raw.flags, FD | PRIORITY);
        assert_eq!(raw.read(), Some(control));
        assert_eq!(RawControl::default().read(), None, "never started");
    }

    #[test]
    fn more_filters_than_fit_are_refused() {
        assert!(RawFilters::new(&[(1, 2); FILTERS], 0).is_some());
        assert!(RawFilters::new(&[(1, 2); FILTERS + 1], 0).is_none());
    }
}
