//! The types of objects: only those that are listed here are passed over.

/// The meaning of an object's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ObjectKind {
    /// `CAN_MESSAGE`, `CAN_MESSAGE2`.
    Classic,
    /// `CAN_FD_MESSAGE`.
    Fd,
    /// `CAN_FD_MESSAGE_64`.
    Fd64,
    /// `CAN_ERROR`, `CAN_ERROR_EXT`: an error frame, with a channel of 16 bits.
    Error,
    /// `CAN_FD_ERROR_64`: an error frame, with a channel of 8 bits.
    FdError64,
    /// `DATA_LOST_END`: the number of events that the recorder lost.
    DataLost,
    /// Known not to be a frame of CAN.
    Other,
}

/// Returns the meaning of a type; `None` where it is not known.
pub(super) const fn find(number: u32) -> Option<ObjectKind> {
    Some(match number {
        1 | 86 => ObjectKind::Classic,
        2 | 73 => ObjectKind::Error,
        100 => ObjectKind::Fd,
        101 => ObjectKind::Fd64,
        104 => ObjectKind::FdError64,
        126 => ObjectKind::DataLost,
        // Overload frames, statistics of CAN; triggers, environment variables.
        3..=9
        // LIN, MOST.
        | 11..=25
        // FlexRay, MOST, errors of CAN drivers, GPS, a real-time clock.
        | 29..=51
        // LIN, J1708, FlexRay, MOST, texts, Ethernet, system variables.
        | 54..=72
        // Errors of CAN drivers, LIN, MOST.
        | 74..=85
        // LIN, serial lines, overruns, comments, WLAN, markers, AFDX, K-Line.
        | 87..=99
        // Ethernet.
        | 102 | 103
        // LIN, AFDX, ARINC 429, Ethernet statistics, restore points, tests, diagnostics.
        | 105..=107 | 109..=119
        // Ethernet, function buses, the beginning of a loss.
        | 120..=125
        // Water marks, triggers, settings of CAN, distributed objects, attributes, Ethernet.
        | 127..=133 => ObjectKind::Other,
        _ => return None,
    })
}
