//! One table in the kernel: its program and its maps.

use super::compile::Image;
use super::error::whole;
use super::layout::{PortCount, RouteCount};
use super::{Error, Options, maps};
use crate::RouteCounts;
use aya::programs::{SchedClassifier, Xdp};
use aya::{Ebpf, EbpfLoader};
use route::{Mode, Routes};

/// Built by `cargo xtask bpf` from crates/offload/bpf.
static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/gateway.bpf.o"));

/// What the loader tells the program once for all.
pub(crate) struct Settings {
    /// Of this gateway, in the marks of the frames that it sends.
    pub(crate) mark: u32,
    /// `bpf_check_mtu` is there.
    pub(crate) check_mtu: bool,
}

/// A table in the kernel, attached or not.
pub(crate) struct Generation {
    ebpf: Ebpf,
    routes: usize,
    ports: usize,
}

impl Generation {
    /// Loads the program and fills all of its maps; nothing runs yet.
    pub(crate) fn load(
        image: &Image,
        routes: &Routes,
        ports: usize,
        options: &Options,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let size = |len: usize| (len as u32).max(1);
        let max_hops = u32::from(routes.max_hops);
        let flag = |set: bool| u8::from(set);
        let flags = [
            ("FIRST", flag(routes.mode == Mode::First)),
            ("TAP", flag(options.tap)),
            ("EXACT", flag(options.exact)),
            ("HAS_CHECK_MTU", flag(settings.check_mtu)),
            ("CLOCK_FROM_MAP", flag(options.test_clock)),
            ("HAS_OPS", flag(!image.ops.is_empty())),
            ("HAS_LIMITS", flag(!image.limits.is_empty())),
            ("HAS_PATTERNS", flag(!image.patterns.is_empty())),
        ];
        let mut loader = EbpfLoader::new();
        // No relocation asks for the kernel's own types, and reading them takes long.
        loader.btf(None);
        for (name, value) in &flags {
            loader.override_global(name, value, true);
        }
        loader
            .override_global("PORT_MULTIPLIER", &image.port_multiplier, true)
            .override_global("PORT_SHIFT", &image.port_shift, true)
            .override_global("MAX_HOPS", &max_hops, true)
            .override_global("MARK", &settings.mark, true);
        for (name, len) in [
            ("ports", image.ports.len()),
            ("groups", image.groups.len()),
            ("slots", image.slots.len()),
            ("rest", image.rest.len()),
            ("routes", image.routes.len()),
            ("destinations", image.destinations.len()),
            ("patterns", image.patterns.len()),
            ("ops", image.ops.len()),
            ("crc_tables", image.crc_tables.len()),
            ("limits", image.limits.len()),
            ("ids", image.ids as usize),
            ("route_counts", image.routes.len()),
            ("port_counts", ports),
        ] {
            loader.map_max_entries(name, size(len));
        }
        let mut ebpf = loader
            .load(OBJECT)
            .map_err(|error| Error::Load(whole(&error)))?;
        maps::write(&ebpf, "ports", &image.ports)?;
        maps::write(&ebpf, "groups", &image.groups)?;
        maps::write(&ebpf, "slots", &image.slots)?;
        maps::write(&ebpf, "rest", &image.rest)?;
        maps::write(&ebpf, "routes", &image.routes)?;
        maps::write(&ebpf, "destinations", &image.destinations)?;
        maps::write(&ebpf, "patterns", &image.patterns)?;
        maps::write(&ebpf, "ops", &image.ops)?;
        // Also XOR checksums look a table up.
        let tables = [super::layout::CrcTable([0; 256])];
        if image.crc_tables.is_empty() {
            maps::write(&ebpf, "crc_tables", &tables)?;
        } else {
            maps::write(&ebpf, "crc_tables", &image.crc_tables)?;
        }
        maps::write_limits(&mut ebpf, &image.limits)?;
        let mut generation = Self {
            ebpf,
            routes: image.routes.len(),
            ports,
        };
        generation
            .program()?
            .load()
            .map_err(|error| Error::Load(whole(&error)))?;
        Ok(generation)
    }

    /// The program at an interface's entrance.
    pub(crate) fn program(&mut self) -> Result<&mut SchedClassifier, Error> {
        self.ebpf
            .program_mut("cangate")
            .and_then(|program| program.try_into().ok())
            .ok_or_else(|| Error::Load("its object lacks the program".to_owned()))
    }

    /// The program that makes room in virtual interfaces, loaded.
    pub(crate) fn room(&mut self) -> Result<&mut Xdp, Error> {
        let program: &mut Xdp = self
            .ebpf
            .program_mut("cangate_room")
            .and_then(|program| program.try_into().ok())
            .ok_or_else(|| Error::Load("its object lacks the program cangate_room".to_owned()))?;
        if program.fd().is_err() {
            program.load().map_err(|error| Error::Load(whole(&error)))?;
        }
        Ok(program)
    }

    /// For tests: the time that rate limits see.
    pub(crate) fn set_clock(&self, now: u64) -> Result<(), Error> {
        maps::write(&self.ebpf, "test_clock", &[now])
    }

    /// What each route has counted.
    pub(crate) fn route_counts(&self) -> Result<Vec<RouteCounts>, Error> {
        let map = self.map("route_counts")?;
        let sums = maps::sums(
            map,
            "route_counts",
            self.routes,
            |sum: &mut RouteCount, more| {
                sum.taken += more.taken;
                sum.sent += more.sent;
                sum.failed += more.failed;
                for (sum, more) in sum.stopped.iter_mut().zip(more.stopped) {
                    *sum += more;
                }
            },
        )?;
        let counts = |sum: RouteCount| RouteCounts {
            taken: Some(sum.taken),
            sent: sum.sent,
            stopped: sum.stopped,
            failed: sum.failed,
        };
        Ok(sums.into_iter().map(counts).collect())
    }

    /// What each port has counted.
    pub(crate) fn port_counts(&self) -> Result<Vec<PortCount>, Error> {
        let map = self.map("port_counts")?;
        maps::sums(
            map,
            "port_counts",
            self.ports,
            |sum: &mut PortCount, more| {
                sum.seen += more.seen;
                sum.unrouted += more.unrouted;
                sum.local += more.local;
                sum.odd += more.odd;
            },
        )
    }

    fn map(&self, name: &'static str) -> Result<&aya::maps::Map, Error> {
        self.ebpf.map(name).ok_or_else(|| Error::Map {
            map: name,
            why: "it is not in the object".to_owned(),
        })
    }
}
