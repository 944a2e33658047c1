//! The content of an image, made from a `gateway.toml`, and its position in the image's file.

use alloc::string::String;
use alloc::vec::Vec;
use frame::Nanos;
use route::Routes;
use serde::{Deserialize, Serialize};

/// A gateway, in the form for an image.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePlan {
    /// The ports, in the order of the file: port `n` of the routes is `ports[n]`.
    pub ports: Vec<PortPlan>,
    /// The routes.
    pub routes: Routes,
}

/// A port. The settings are those of `kind = "direct"`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortPlan {
    /// Its name.
    pub name: String,
    /// The location of its controller.
    pub place: ControllerPlace,
    /// The bit rate, bit/s.
    pub bitrate: u32,
    /// The sample point, in thousandths of a bit; `None` for the usual one of the bit rate.
    pub sample_point: Option<u32>,
    /// The bit rate of the data phase, bit/s; its presence makes the controller an FD controller.
    pub data_bitrate: Option<u32>,
    /// The sample point of the data phase, in thousandths of a bit.
    pub data_sample_point: Option<u32>,
    /// The way its controller is monitored.
    pub drive: DriveMode,
    /// Whether it sends nothing.
    pub listen_only: bool,
    /// Whether each frame is tried only once.
    pub one_shot: bool,
    /// Whether error frames report every error and every lost arbitration.
    pub bus_errors: bool,
    /// Time from bus-off to the restart, ns; `None` for no restart.
    pub restart: Option<Nanos>,
    /// Number of frames that can wait in front of the transmit buffers.
    pub queue: u32,
}

/// Time from bus-off to the restart, ns: the default of `kind = "direct"`.
const RESTART: Nanos = 100_000_000;
/// Number of frames that can wait: also the default of `kind = "direct"`.
const QUEUE: u32 = 128;

impl PortPlan {
    /// Creates a port with the defaults of `kind = "direct"`: classic frames, polled.
    #[must_use]
    pub fn new(name: impl Into<String>, place: ControllerPlace, bitrate: u32) -> Self {
        Self {
            name: name.into(),
            place,
            bitrate,
            sample_point: None,
            data_bitrate: None,
            data_sample_point: None,
            drive: DriveMode::Poll,
            listen_only: false,
            one_shot: false,
            bus_errors: false,
            restart: Some(RESTART),
            queue: QUEUE,
        }
    }
}

/// The location of a controller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ControllerPlace {
    /// On a PCI card.
    Card {
        /// Its address, such as `0000:00:04.0`.
        address: String,
        /// The number of the controller on its card.
        channel: u8,
    },
    /// On a bus of the bench inside the image.
    Bench {
        /// The number of its bus.
        bus: u8,
    },
}

/// The way a controller is monitored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum DriveMode {
    /// The gateway polls it continuously, without a pause.
    #[default]
    Poll,
    /// The controller interrupts; in between the processor sleeps.
    Interrupt,
}

/// The reason why an image has no plan.
#[derive(thiserror::Error, Debug)]
pub enum PlanError {
    /// The image has no plan: it is unchanged since it was built.
    #[error("this image contains no gateway: add one with `cangate image`")]
    Empty,
    /// The plan is too long for its slot.
    #[error("the gateway takes {size} bytes, and an image has room for {room}")]
    Long {
        /// The length of the plan in bytes.
        size: usize,
        /// The length of the slot in bytes.
        room: usize,
    },
    /// The plan cannot be read.
    #[error("the gateway in this image is of another version, or damaged: {0}")]
    Unreadable(serde_json::Error),
}

/// Size of the slot in bytes: about 3000 routes that change nothing, at 330 bytes of JSON each.
pub const SLOT: usize = 1 << 20;

/// The start of the slot in an image's file; `cangate image` searches for it.
const MARK: [u8; 16] = *b"cangate gateway\n";

/// The place in an image's file where its plan is written.
#[repr(C, align(4096))]
pub struct PlanSlot {
    mark: [u8; 16],
    /// The length of the plan in bytes, lowest byte first; 0 if there is none.
    length: [u8; 8],
    bytes: [u8; SLOT],
}

impl PlanSlot {
    /// Returns a slot without a plan.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            mark: MARK,
            length: [0; 8],
            // Not zeros: the linker would leave them out of the file.
            bytes: [b' '; SLOT],
        }
    }

    /// Returns the plan.
    ///
    /// # Errors
    /// [`PlanError`]: there is no plan, or it cannot be read.
    pub fn plan(&self) -> Result<ImagePlan, PlanError> {
        let size = u64::from_le_bytes(self.length) as usize;
        if size == 0 {
            return Err(PlanError::Empty);
        }
        let room = SLOT;
        let bytes = self.bytes.get(..size);
        let bytes = bytes.ok_or(PlanError::Long { size, room })?;
        ImagePlan::read(bytes)
    }

    /// Writes a plan into an image's file. Returns false if the file is not an image.
    ///
    /// # Errors
    /// [`PlanError::Long`].
    pub fn write(image: &mut [u8], plan: &ImagePlan) -> Result<bool, PlanError> {
        let text = plan.write()?;
        let (size, room) = (text.len(), SLOT);
        if size > room {
            return Err(PlanError::Long { size, room });
        }
        let Some(at) = image
            .windows(MARK.len())
            .step_by(16)
            .position(|w| w == MARK)
        else {
            return Ok(false);
        };
        let Some(slot) = image.get_mut(at * 16 + MARK.len()..) else {
            return Ok(false);
        };
        let Some((length, bytes)) = slot.split_first_chunk_mut::<8>() else {
            return Ok(false);
        };
        *length = (size as u64).to_le_bytes();
        let Some(to) = bytes.get_mut(..room) else {
            return Ok(false);
        };
        let (to, rest) = to.split_at_mut(size);
        to.copy_from_slice(&text);
        rest.fill(b' ');
        Ok(true)
    }
}

impl ImagePlan {
    fn read(bytes: &[u8]) -> Result<Self, PlanError> {
        serde_json::from_slice(bytes).map_err(PlanError::Unreadable)
    }

    fn write(&self) -> Result<Vec<u8>, PlanError> {
        serde_json::to_vec(self).map_err(PlanError::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use route::parts::{
        BitMeaning, ByteOrder, FieldLayout, FieldSource, FieldTest, FieldWrite, LinearMap,
        OutOfRange, RangePolicy, SignalField,
    };
    use route::{Crc8, Crc8Profile, PortId, Route, SignalCondition, WriteSignals};

    fn plan() -> ImagePlan {
        let mut route = Route::new("there", vec![PortId(0)], vec![PortId(1)]);
        route.actions.push(
            Crc8 {
                from: 0,
                to: -2,
                result: -1,
                init: 0xFF,
                final_xor: 0,
                table: Crc8::table_of(0x1D),
                profile: Crc8Profile::SffIdXor,
            }
            .into(),
        );
        with_signals(&mut route);
        ImagePlan {
            ports: vec![],
            routes: Routes {
                routes: vec![route],
                ..Routes::default()
            },
        }
    }

    /// Adds a condition on a signal and an assignment, with numbers as large as they can be.
    fn with_signals(route: &mut Route) {
        let layout = FieldLayout {
            start: 7,
            bits: 64,
            order: ByteOrder::Motorola,
        };
        let field = SignalField::new(layout, 8).unwrap();
        let range = (1 << 63, u64::MAX >> 1);
        let test = FieldTest::new(field, BitMeaning::Signed, range, true).unwrap();
        route.matching.when = Some(SignalCondition {
            text: "Signal != 0".into(),
            alternatives: vec![vec![test]],
        });
        let source = FieldSource::Signal {
            from: field,
            is_signed: true,
            map: LinearMap {
                factor: i64::MIN,
                offset: i64::MAX,
                divisor: u64::MAX,
            },
            range: RangePolicy::of_field(&field, BitMeaning::Unsigned, OutOfRange::Saturate),
        };
        let writes = vec![FieldWrite { to: field, source }];
        let text = "{ Signal = { from = 'Signal' } }".into();
        route.actions.push(WriteSignals { text, writes }.into());
    }

    /// Returns a file that contains the slot at some offset.
    fn file() -> Vec<u8> {
        let mut file = vec![0; 4096];
        file.extend(MARK);
        file.extend([0; 8]);
        file.extend(vec![b' '; SLOT]);
        file.extend([7; 16]);
        file
    }

    /// Runs a test with a larger stack, because a slot is large for a test's stack.
    fn with_room(test: fn()) {
        let thread = std::thread::Builder::new().stack_size(32 << 20);
        thread.spawn(test).unwrap().join().unwrap();
    }

    #[test]
    fn a_plan_is_read_back_from_an_image() {
        with_room(read_back);
    }

    fn read_back() {
        let mut file = file();
        let first = plan();
        assert!(PlanSlot::write(&mut file, &first).unwrap());
        let mut slot = alloc::boxed::Box::new(PlanSlot::empty());
        assert!(matches!(slot.plan(), Err(PlanError::Empty)));
        let load = |slot: &mut PlanSlot, file: &[u8]| {
            slot.length.copy_from_slice(&file[4112..4120]);
            slot.bytes.copy_from_slice(&file[4120..4120 + SLOT]);
        };
        load(&mut slot, &file);
        assert_eq!(slot.plan().unwrap(), first);
        // A shorter plan leaves no bytes of the longer one.
        assert!(PlanSlot::write(&mut file, &ImagePlan::default()).unwrap());
        load(&mut slot, &file);
        assert_eq!(slot.plan().unwrap(), ImagePlan::default());
        assert_eq!(file.last(), Some(&7));
        slot.length = [0xFF; 8];
        assert!(matches!(slot.plan(), Err(PlanError::Long { .. })));
        slot.length = 3_u64.to_le_bytes();
        assert!(matches!(slot.plan(), Err(PlanError::Unreadable(_))));
    }

    #[test]
    fn what_is_no_image_or_too_large_is_reported() {
        assert!(!PlanSlot::write(&mut [0; 64], &plan()).unwrap());
        let mut many = plan();
        let route = many.routes.routes[0].clone();
        many.routes.routes = vec![route; 2000];
        let long = PlanSlot::write(&mut file(), &many);
        assert!(matches!(long, Err(PlanError::Long { .. })), "{long:?}");
        let mut cut = file();
        cut.truncate(9000);
        assert!(!PlanSlot::write(&mut cut, &plan()).unwrap());
    }
}
