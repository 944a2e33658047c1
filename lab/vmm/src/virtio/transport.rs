//! The registers by which a driver sets a device up: `struct virtio_pci_common_cfg` (virtio 1.4,
//! §4.1.4.3).

use super::queue::{DriverQueue, LONGEST, NO_VECTOR};
use super::{QUEUES, VECTORS};

/// `VIRTIO_F_VERSION_1`.
pub(super) const VERSION_1: u64 = 1 << 32;

/// Bits of the device's status (§2.1).
const FEATURES_OK: u8 = 8;
const DRIVER_OK: u8 = 4;
const NEEDS_RESET: u8 = 64;

/// Offsets of the fields.
mod at {
    pub(super) const DEVICE_FEATURE_SELECT: usize = 0x00;
    pub(super) const DEVICE_FEATURE: usize = 0x04;
    pub(super) const DRIVER_FEATURE_SELECT: usize = 0x08;
    pub(super) const DRIVER_FEATURE: usize = 0x0C;
    pub(super) const CONFIG_VECTOR: usize = 0x10;
    pub(super) const QUEUE_COUNT: usize = 0x12;
    pub(super) const STATUS: usize = 0x14;
    pub(super) const GENERATION: usize = 0x15;
    pub(super) const QUEUE_SELECT: usize = 0x16;
    pub(super) const QUEUE_SIZE: usize = 0x18;
    pub(super) const QUEUE_VECTOR: usize = 0x1A;
    pub(super) const QUEUE_ENABLE: usize = 0x1C;
    pub(super) const QUEUE_NOTIFY_OFF: usize = 0x1E;
    pub(super) const DESCRIPTORS: usize = 0x20;
    pub(super) const DRIVER_AREA: usize = 0x28;
    pub(super) const DEVICE_AREA: usize = 0x30;
    pub(super) const END: usize = 0x38;
}

/// Size of the registers in bytes.
pub(super) const SIZE: usize = at::END;

/// The implementation of the device.
pub(crate) trait DeviceBackend {
    /// Returns the features that it offers.
    fn features(&self) -> u64;
    /// Starts the device after the driver has set it up. Returns false if it does not work with
    /// these settings.
    fn start(&mut self, features: u64, queues: &[DriverQueue; QUEUES]) -> bool;
    /// Stops a started device because the driver resets it.
    fn stop(&mut self);
    /// Reads the device's configuration.
    fn config(&mut self, at: usize, bytes: &mut [u8]);
    /// Returns the number of changes of the device's configuration.
    fn generation(&self) -> u8;
    /// Handles the driver's kick of a queue; called only while KVM does not handle kicks.
    fn kick(&mut self, queue: usize);
}

/// The registers.
pub(crate) struct VirtioTransport<B> {
    pub(super) backend: B,
    device_select: u32,
    driver_select: u32,
    features: u64,
    config_vector: u16,
    status: u8,
    /// Whether the back end works.
    started: bool,
    selected: u16,
    queues: [DriverQueue; QUEUES],
}

impl<B: DeviceBackend> VirtioTransport<B> {
    pub(super) const fn new(backend: B) -> Self {
        Self {
            backend,
            device_select: 0,
            driver_select: 0,
            features: 0,
            config_vector: NO_VECTOR,
            status: 0,
            started: false,
            selected: 0,
            queues: [DriverQueue::NEW; QUEUES],
        }
    }

    /// Returns whether the device works.
    pub(super) const fn is_started(&self) -> bool {
        self.started
    }

    /// Returns the interrupt of the device's configuration.
    pub(super) fn config_vector(&self) -> Option<usize> {
        let vector = usize::from(self.config_vector);
        (vector < VECTORS).then_some(vector)
    }

    /// Returns the current values of all registers.
    fn image(&self) -> [u8; SIZE] {
        let mut image = [0; SIZE];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = image.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        };
        let half = |features: u64, select: u32| match select {
            0 => features as u32,
            1 => (features >> 32) as u32,
            _ => 0,
        };
        put(at::DEVICE_FEATURE_SELECT, &self.device_select.to_le_bytes());
        let offered = half(self.backend.features(), self.device_select);
        put(at::DEVICE_FEATURE, &offered.to_le_bytes());
        put(at::DRIVER_FEATURE_SELECT, &self.driver_select.to_le_bytes());
        let wanted = half(self.features, self.driver_select);
        put(at::DRIVER_FEATURE, &wanted.to_le_bytes());
        put(at::CONFIG_VECTOR, &self.config_vector.to_le_bytes());
        put(at::QUEUE_COUNT, &(QUEUES as u16).to_le_bytes());
        put(at::STATUS, &[self.status]);
        put(at::GENERATION, &[self.backend.generation()]);
        put(at::QUEUE_SELECT, &self.selected.to_le_bytes());
        // A queue that does not exist has no buffers (§4.1.4.3.1).
        if let Some(queue) = self.queues.get(usize::from(self.selected)) {
            put(at::QUEUE_SIZE, &queue.size.to_le_bytes());
            put(at::QUEUE_VECTOR, &queue.vector.to_le_bytes());
            put(at::QUEUE_ENABLE, &u16::from(queue.enabled).to_le_bytes());
            put(at::QUEUE_NOTIFY_OFF, &self.selected.to_le_bytes());
            put(at::DESCRIPTORS, &queue.descriptors.to_le_bytes());
            put(at::DRIVER_AREA, &queue.driver.to_le_bytes());
            put(at::DEVICE_AREA, &queue.device.to_le_bytes());
        }
        image
    }

    /// Handles a read of the driver.
    pub(super) fn read(&self, at: usize, bytes: &mut [u8]) {
        let image = self.image();
        for (offset, byte) in bytes.iter_mut().enumerate() {
            *byte = image.get(at + offset).copied().unwrap_or(0);
        }
    }

    /// Handles a write of the driver: whole fields, and halves of eight-byte fields; other writes
    /// are ignored.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        match *bytes {
            [byte] if at == at::STATUS => self.set_status(byte),
            [a, b] => self.write_word(at, u16::from_le_bytes([a, b])),
            [a, b, c, d] => self.write_long(at, u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] if at.is_multiple_of(8) && at >= at::DESCRIPTORS => {
                self.write_long(at, u32::from_le_bytes([a, b, c, d]));
                self.write_long(at + 4, u32::from_le_bytes([e, f, g, h]));
            }
            _ => {}
        }
    }

    fn set_status(&mut self, status: u8) {
        if status == 0 {
            if std::mem::take(&mut self.started) {
                self.backend.stop();
            }
            self.device_select = 0;
            self.driver_select = 0;
            self.features = 0;
            self.config_vector = NO_VECTOR;
            self.status = 0;
            self.selected = 0;
            self.queues = [DriverQueue::NEW; QUEUES];
            return;
        }
        // A driver can clear bits only by a reset (§2.1.1).
        let new = status & !self.status & !NEEDS_RESET;
        let mut set = self.status | new;
        if new & FEATURES_OK != 0 {
            let offered = self.backend.features();
            if self.features & !offered != 0 || self.features & VERSION_1 == 0 {
                set &= !FEATURES_OK;
            }
        }
        if new & DRIVER_OK != 0 {
            self.started =
                set & FEATURES_OK != 0 && self.backend.start(self.features, &self.queues);
            if !self.started {
                set |= NEEDS_RESET;
            }
        }
        self.status = set;
    }

    /// Returns the selected queue if the driver may still change it. It may not after DRIVER_OK
    /// (§3.1.1): by then, the back end has the queues.
    fn queue(&mut self) -> Option<&mut DriverQueue> {
        if self.status & DRIVER_OK != 0 {
            return None;
        }
        let selected = usize::from(self.selected);
        self.queues.get_mut(selected).filter(|queue| !queue.enabled)
    }

    fn write_word(&mut self, at: usize, word: u16) {
        // An interrupt that does not exist is rejected (§4.1.5.1.2.1).
        let vector = if usize::from(word) < VECTORS {
            word
        } else {
            NO_VECTOR
        };
        match at {
            at::CONFIG_VECTOR => self.config_vector = vector,
            at::QUEUE_SELECT => self.selected = word,
            at::QUEUE_SIZE => {
                if let Some(queue) = self.queue()
                    && word.is_power_of_two()
                    && word <= LONGEST
                {
                    queue.size = word;
                }
            }
            at::QUEUE_VECTOR => {
                // Linux's driver sets this while it sets the queue up.
                if let Some(queue) = self.queue() {
                    queue.vector = vector;
                }
            }
            at::QUEUE_ENABLE if word == 1 => {
                if let Some(queue) = self.queue() {
                    queue.enabled = true;
                }
            }
            _ => {}
        }
    }

    fn write_long(&mut self, at: usize, long: u32) {
        match at {
            at::DEVICE_FEATURE_SELECT => self.device_select = long,
            at::DRIVER_FEATURE_SELECT => self.driver_select = long,
            at::DRIVER_FEATURE => {
                let shift = match self.driver_select {
                    0 => 0,
                    1 => 32,
                    _ => return,
                };
                if self.status & FEATURES_OK == 0 {
                    let mask = u64::from(u32::MAX) << shift;
                    self.features = self.features & !mask | u64::from(long) << shift;
                }
            }
            at::DESCRIPTORS..at::END if at.is_multiple_of(4) => {
                let shift = if at.is_multiple_of(8) { 0 } else { 32 };
                let mask = u64::from(u32::MAX) << shift;
                let Some(queue) = self.queue() else { return };
                let place = match at {
                    at::DESCRIPTORS..at::DRIVER_AREA => &mut queue.descriptors,
                    at::DRIVER_AREA..at::DEVICE_AREA => &mut queue.driver,
                    _ => &mut queue.device,
                };
                *place = *place & !mask | u64::from(long) << shift;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Features that the device offers.
    const OFFERED: u64 = VERSION_1 | 1 << 29 | 7;

    /// The requests that the device received.
    #[derive(Default)]
    pub(in crate::virtio) struct FakeBackend {
        pub(in crate::virtio) started: Option<(u64, [DriverQueue; QUEUES])>,
        pub(in crate::virtio) stopped: u32,
        pub(in crate::virtio) kicks: Vec<usize>,
        pub(in crate::virtio) refuses: bool,
    }

    impl DeviceBackend for FakeBackend {
        fn features(&self) -> u64 {
            OFFERED
        }
        fn start(&mut self, features: u64, queues: &[DriverQueue; QUEUES]) -> bool {
            assert!(self.started.is_none(), "it is started once");
            if !self.refuses {
                self.started = Some((features, *queues));
            }
            !self.refuses
        }
        fn stop(&mut self) {
            self.started = None;
            self.stopped += 1;
        }
        fn config(&mut self, at: usize, bytes: &mut [u8]) {
            bytes.fill(at as u8);
        }
        fn generation(&self) -> u8 {
            3
        }
        fn kick(&mut self, queue: usize) {
            self.kicks.push(queue);
        }
    }

    pub(in crate::virtio) fn long(
        transport: &mut VirtioTransport<FakeBackend>,
        at: usize,
        value: u32,
    ) {
        transport.write(at, &value.to_le_bytes());
    }

    pub(in crate::virtio) fn word(
        transport: &mut VirtioTransport<FakeBackend>,
        at: usize,
        value: u16,
    ) {
        transport.write(at, &value.to_le_bytes());
    }

    fn read<const N: usize>(transport: &VirtioTransport<FakeBackend>, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        transport.read(at, &mut bytes);
        bytes
    }

    /// Performs the steps of Linux's driver, except the last one.
    pub(in crate::virtio) fn set_up(transport: &mut VirtioTransport<FakeBackend>, features: u64) {
        transport.write(at::STATUS, &[0]);
        transport.write(at::STATUS, &[1]);
        transport.write(at::STATUS, &[3]);
        for half in 0..2 {
            long(transport, at::DRIVER_FEATURE_SELECT, half);
            long(
                transport,
                at::DRIVER_FEATURE,
                (features >> (32 * half)) as u32,
            );
        }
        transport.write(at::STATUS, &[0xB]);
        for queue in 0..QUEUES as u16 {
            word(transport, at::QUEUE_SELECT, queue);
            word(transport, at::QUEUE_SIZE, 64);
            let base = 0x1_0000_0000 + u64::from(queue) * 0x1000;
            transport.write(at::DESCRIPTORS, &base.to_le_bytes());
            long(transport, at::DRIVER_AREA, base as u32 + 0x400);
            long(transport, at::DRIVER_AREA + 4, 1);
            transport.write(at::DEVICE_AREA, &(base + 0x800).to_le_bytes());
            word(transport, at::QUEUE_VECTOR, queue + 1);
            word(transport, at::QUEUE_ENABLE, 1);
        }
    }

    #[test]
    fn a_driver_sets_the_device_up() {
        let mut transport = VirtioTransport::new(FakeBackend::default());
        set_up(&mut transport, VERSION_1 | 1);
        assert_eq!(read(&transport, at::STATUS), [0xB]);
        assert!(!transport.is_started());
        transport.write(at::STATUS, &[0xF]);
        assert!(transport.is_started());
        let (features, queues) = transport.backend.started.unwrap();
        assert_eq!(features, VERSION_1 | 1);
        let third = DriverQueue {
            size: 64,
            vector: 3,
            enabled: true,
            descriptors: 0x1_0000_2000,
            driver: 0x1_0000_2400,
            device: 0x1_0000_2800,
        };
        assert_eq!(queues[2], third);
        assert_eq!(queues[2].vector(), Some(3));
        // Setting it again has no effect, and nothing can be changed now.
        transport.write(at::STATUS, &[0xF]);
        word(&mut transport, at::QUEUE_SIZE, 8);
        assert_eq!(read(&transport, at::QUEUE_SIZE), [64, 0]);
        transport.write(at::STATUS, &[0]);
        assert_eq!(transport.backend.stopped, 1);
        assert_eq!(read(&transport, at::STATUS), [0]);
        assert_eq!(read(&transport, at::QUEUE_SIZE), LONGEST.to_le_bytes());
    }

    #[test]
    fn features_that_are_not_offered_are_not_agreed_on() {
        for (features, agreed) in [
            (VERSION_1, true),
            (OFFERED, true),
            (VERSION_1 | 8, false),
            (1, false),
        ] {
            let mut transport = VirtioTransport::new(FakeBackend::default());
            set_up(&mut transport, features);
            let [status] = read(&transport, at::STATUS);
            assert_eq!(status & FEATURES_OK != 0, agreed, "{features:#x}");
            transport.write(at::STATUS, &[0xF]);
            assert_eq!(transport.is_started(), agreed);
        }
    }

    #[test]
    fn what_does_not_work_needs_a_reset() {
        let mut transport = VirtioTransport::new(FakeBackend {
            refuses: true,
            ..FakeBackend::default()
        });
        set_up(&mut transport, VERSION_1);
        transport.write(at::STATUS, &[0xF]);
        let [status] = read(&transport, at::STATUS);
        assert_eq!(status & NEEDS_RESET, NEEDS_RESET);
        assert!(!transport.is_started());
        transport.write(at::STATUS, &[0]);
        assert_eq!(transport.backend.stopped, 0, "what did not start");
    }

    #[test]
    fn a_queue_that_comes_too_late_is_not_enabled() {
        let mut transport = VirtioTransport::new(FakeBackend::default());
        transport.write(at::STATUS, &[3]);
        long(&mut transport, at::DRIVER_FEATURE_SELECT, 1);
        long(&mut transport, at::DRIVER_FEATURE, 1);
        transport.write(at::STATUS, &[0xB]);
        transport.write(at::STATUS, &[0xF]);
        assert!(transport.is_started());
        word(&mut transport, at::QUEUE_ENABLE, 1);
        assert_eq!(read(&transport, at::QUEUE_ENABLE), [0, 0]);
    }

    #[test]
    fn what_is_offered_is_read_in_halves() {
        let mut transport = VirtioTransport::new(FakeBackend::default());
        for (select, half) in [(0, OFFERED as u32), (1, 1), (2, 0)] {
            long(&mut transport, at::DEVICE_FEATURE_SELECT, select);
            assert_eq!(read(&transport, at::DEVICE_FEATURE), half.to_le_bytes());
        }
        // A queue or an interrupt that does not exist.
        word(&mut transport, at::QUEUE_SELECT, 3);
        assert_eq!(read(&transport, at::QUEUE_SIZE), [0, 0]);
        word(&mut transport, at::CONFIG_VECTOR, 4);
        assert_eq!(read(&transport, at::CONFIG_VECTOR), [0xFF, 0xFF]);
        word(&mut transport, at::CONFIG_VECTOR, 0);
        assert_eq!(transport.config_vector(), Some(0));
        assert_eq!(read(&transport, at::GENERATION), [3]);
    }

    proptest! {
        /// A driver that writes anything anywhere does not cause a panic, queues stay within
        /// bounds, and a device without negotiated features does not start.
        #[test]
        fn any_driver(
            writes in proptest::collection::vec((0_usize..0x50, any::<[u8; 8]>(), 0_usize..9), 0..200), ready: bool
        ) {
            let mut transport = VirtioTransport::new(FakeBackend::default());
            if ready {
                set_up(&mut transport, VERSION_1);
            }
            for (at, bytes, len) in writes {
                transport.write(at, &bytes[..len]);
                let mut all = [0; 16];
                transport.read(at, &mut all);
                for queue in &transport.queues {
                    prop_assert!(queue.size.is_power_of_two() && queue.size <= LONGEST);
                    prop_assert!(queue.vector == NO_VECTOR || usize::from(queue.vector) < VECTORS);
                }
                prop_assert_eq!(transport.is_started(), transport.backend.started.is_some());
                if let Some((features, _)) = transport.backend.started {
                    prop_assert_eq!(features & !OFFERED, 0);
                    prop_assert!(features & VERSION_1 != 0);
                }
            }
        }
    }
}
