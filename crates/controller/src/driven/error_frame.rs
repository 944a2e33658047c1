//! Error frames in the format of SocketCAN's drivers (`uapi/linux/can/error.h`).

use crate::{ControllerEvent, ErrorState, ErrorStatus, ErrorType};
use frame::Frame;
use frame::error_frame::class::{
    BUS_ERROR, BUS_OFF, CONTROLLER, COUNTERS, LOST_ARBITRATION, NO_ACK, PROTOCOL,
};
use frame::error_frame::controller::{
    ACTIVE, RX_OVERFLOW, RX_PASSIVE, RX_WARNING, TX_PASSIVE, TX_WARNING,
};
use frame::error_frame::{self, place, protocol};

/// Returns the error frame for an event, if SocketCAN defines one.
pub(crate) fn from_event(event: &ControllerEvent<'_>) -> Option<Frame> {
    let mut data = [0; 8];
    let [place0, trouble1, type2, place3, _, _, tec6, rec7] = &mut data;
    let class = match *event {
        ControllerEvent::Overrun { .. } => {
            *trouble1 = RX_OVERFLOW;
            CONTROLLER
        }
        ControllerEvent::ArbitrationLost { bit } => {
            *place0 = bit.unwrap_or(0);
            LOST_ARBITRATION
        }
        ControllerEvent::Status(status) => {
            *tec6 = counter(status.tec);
            *rec7 = counter(status.rec);
            *trouble1 = state(&status);
            COUNTERS
                | match status.state {
                    Some(ErrorState::BusOff) => BUS_OFF,
                    _ => CONTROLLER,
                }
        }
        ControllerEvent::BusError(error) => {
            *place3 = error.place.map_or(0, |place| place.0);
            match error.trouble {
                ErrorType::Bit => *type2 = protocol::BIT,
                ErrorType::Form => *type2 = protocol::FORM,
                ErrorType::Stuff => *type2 = protocol::STUFF,
                ErrorType::Crc => *place3 = place::CRC,
                ErrorType::Acknowledge => *place3 = place::ACK,
                ErrorType::Other => {}
            }
            if error.transmitting {
                *type2 |= protocol::SENDING;
            }
            let no_ack = error.trouble == ErrorType::Acknowledge;
            PROTOCOL | BUS_ERROR | if no_ack { NO_ACK } else { 0 }
        }
        ControllerEvent::Received { .. }
        | ControllerEvent::Sent { .. }
        | ControllerEvent::Failed { .. } => return None,
    };
    error_frame::of(class, data)
}

/// Limits a counter to a byte; above 255 a controller is bus-off anyway.
fn counter(value: u16) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

/// Follows `can_change_state` of Linux's `drivers/net/can/dev/dev.c`: the higher counter determines
/// whether the transmitting or the receiving side is reported.
fn state(status: &ErrorStatus) -> u8 {
    let sending = status.tec >= status.rec;
    let receiving = status.rec >= status.tec;
    let either = |tx: u8, rx: u8| if sending { tx } else { 0 } | if receiving { rx } else { 0 };
    match status.state {
        Some(ErrorState::Active) => ACTIVE,
        Some(ErrorState::Warning) => either(TX_WARNING, RX_WARNING),
        Some(ErrorState::Passive) => either(TX_PASSIVE, RX_PASSIVE),
        Some(ErrorState::BusOff) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BusError, ErrorPlace};

    /// Compared with the interpretation of `candump -e` (can-utils, lib.c), by the numbers of
    /// error.h.
    #[test]
    fn each_event_has_its_frame() {
        let frame = |event| from_event(&event).unwrap();
        let overrun = frame(ControllerEvent::Overrun {
            frames: 3,
            exact: false,
        });
        assert_eq!((overrun.id().raw(), overrun.data()[1]), (0x2000_0004, 1));
        let status =
            |state, tec, rec| frame(ControllerEvent::Status(ErrorStatus { state, tec, rec }));
        let passive = status(Some(ErrorState::Passive), 128, 3);
        assert_eq!(passive.id().raw(), 0x2000_0204);
        assert_eq!(passive.data(), [0, 0x20, 0, 0, 0, 0, 128, 3]);
        let off = status(Some(ErrorState::BusOff), 256, 0);
        assert_eq!((off.id().raw(), off.data()[6]), (0x2000_0240, 255));
        assert_eq!(status(Some(ErrorState::Active), 0, 0).data()[1], 0x40);
        assert_eq!(status(Some(ErrorState::Warning), 96, 96).data()[1], 0x0C);
        let ack = frame(ControllerEvent::BusError(BusError {
            trouble: ErrorType::Acknowledge,
            place: Some(ErrorPlace(0x19)),
            transmitting: true,
        }));
        assert_eq!(ack.id().raw(), 0x2000_00A8);
        assert_eq!(ack.data()[2..4], [0x80, 0x19]);
        let lost = frame(ControllerEvent::ArbitrationLost { bit: Some(5) });
        assert_eq!((lost.id().raw(), lost.data()[0]), (0x2000_0002, 5));
        assert_eq!(
            from_event(&ControllerEvent::Sent {
                token: 1,
                stamp: None
            }),
            None
        );
    }
}
