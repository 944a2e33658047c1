//! The constants of the program, which the loader sets in the object.

use super::BpfOptions;
use super::compile::TableImage;
use super::layout::OP_WRITE;
use route::{RouteMode, Routes};

/// Settings of the program that depend on the kernel and the process.
pub(crate) struct ProgramSettings {
    /// The mark of this gateway in the frames that it sends.
    pub(crate) mark: u32,
    /// The kernel has `bpf_check_mtu`.
    pub(crate) check_mtu: bool,
}

/// The constants of the program for one table. The verifier removes the parts of the program that
/// they exclude.
pub(crate) struct ProgramConstants {
    pub(crate) flags: [(&'static str, bool); 10],
    pub(crate) numbers: [(&'static str, u32); 4],
}

impl ProgramConstants {
    /// Returns the constants for a table.
    pub(crate) fn of(
        image: &TableImage,
        routes: &Routes,
        options: &BpfOptions,
        settings: &ProgramSettings,
    ) -> Self {
        Self {
            flags: [
                ("FIRST", routes.mode == RouteMode::First),
                ("TAP", options.tap),
                ("EXACT", options.exact),
                ("HAS_CHECK_MTU", settings.check_mtu),
                ("CLOCK_FROM_MAP", options.test.clock),
                ("HAS_OPS", !image.ops.is_empty()),
                ("HAS_LIMITS", !image.limits.is_empty()),
                ("HAS_PATTERNS", !image.patterns.is_empty()),
                ("HAS_CONDITIONS", !image.conditions.is_empty()),
                ("HAS_WRITES", image.ops.iter().any(|op| op.kind == OP_WRITE)),
            ],
            numbers: [
                ("PORT_MULTIPLIER", image.port_multiplier),
                ("PORT_MASK", image.port_mask),
                ("MAX_HOPS", u32::from(routes.max_hops)),
                ("MARK", settings.mark),
            ],
        }
    }
}
