//! One table in the kernel: its program and its maps.

use super::about::AboutMap;
use super::compile::TableImage;
use super::constants::{ProgramConstants, ProgramSettings};
use super::contents::MapContents;
use super::error::whole;
use super::ledger::TableLedger;
use super::{BpfOptions, Error, loader, maps};
use aya::Ebpf;
use aya::maps::Map;
use aya::programs::{SchedClassifier, Xdp};
use route::Routes;
use std::os::fd::{AsFd, BorrowedFd};

/// A table in the kernel, attached or not.
pub(crate) struct TableGeneration {
    ebpf: Ebpf,
    pub(super) ledger: TableLedger,
    about_map: Map,
    about: AboutMap,
}

impl TableGeneration {
    /// Loads the program and fills all of its maps; it is not attached yet.
    pub(crate) fn load(
        image: &TableImage,
        routes: &Routes,
        about: AboutMap,
        options: &BpfOptions,
        settings: &ProgramSettings,
    ) -> Result<Self, Error> {
        // If a frame needs a copy for another receiver, or no hop is allowed, the short path is
        // unusable.
        let mut without_short = None;
        if options.tap || options.exact || routes.max_hops == 0 {
            let image: &mut TableImage = without_short.insert(image.clone());
            image.leave_short_path();
        }
        let image = without_short.as_ref().unwrap_or(image);
        let constants = ProgramConstants::of(image, routes, options, settings);
        let contents = image.contents();
        let mut sizes: Vec<(&'static str, u32)> = contents
            .iter()
            .map(|map| (map.name, map.len() as u32))
            .collect();
        sizes.extend([
            ("limits", image.limits.len() as u32),
            ("ids", image.ids),
            ("about", about.pages()),
            ("route_counts", image.routes.len() as u32),
            ("port_counts", about.ports.len() as u32),
        ]);
        for (_, size) in &mut sizes {
            // The kernel refuses a map without entries.
            *size = (*size).max(1);
        }
        let mut ebpf = loader::load(&constants.flags, &constants.numbers, &sizes)?;
        for map in &contents {
            maps::write(&ebpf, map)?;
        }
        maps::write_limits(&mut ebpf, &image.limits)?;
        let verified = program(&mut ebpf)?;
        loader::verify(|| verified.load()).map_err(|error| Error::Load(whole(&error)))?;
        let mut generation = Self {
            ledger: TableLedger {
                routes: about.routes.clone(),
                ports: about.ports.clone(),
                route_counts: take(&mut ebpf, "route_counts")?,
                port_counts: take(&mut ebpf, "port_counts")?,
            },
            about_map: take(&mut ebpf, "about")?,
            ebpf,
            about: AboutMap::default(),
        };
        generation.replace_about(about)?;
        Ok(generation)
    }

    /// Returns the program for an interface's ingress.
    pub(crate) fn program(&mut self) -> Result<&mut SchedClassifier, Error> {
        program(&mut self.ebpf)
    }

    /// Returns the table's description.
    pub(super) fn about(&self) -> &AboutMap {
        &self.about
    }

    /// Replaces the table's description.
    pub(super) fn replace_about(&mut self, about: AboutMap) -> Result<(), Error> {
        about.write(&mut self.about_map)?;
        self.about = about;
        Ok(())
    }

    /// Lets rate limits continue from the state of the same routes in the former table. Frames that
    /// pass between this call and the exchange of the tables are not counted.
    pub(super) fn inherit(&mut self, former: &Self, pairs: &[(u32, u32)]) -> Result<(), Error> {
        maps::inherit_limits(&former.ebpf, &mut self.ebpf, pairs)
    }

    /// For tests: sets the time that rate limits see.
    pub(crate) fn set_clock(&self, now: u64) -> Result<(), Error> {
        maps::write(&self.ebpf, &MapContents::of("test_clock", &[now]))
    }
}

fn program(ebpf: &mut Ebpf) -> Result<&mut SchedClassifier, Error> {
    ebpf.program_mut("cangate")
        .and_then(|program| program.try_into().ok())
        .ok_or_else(|| Error::Load("its object lacks the program".to_owned()))
}

fn take(ebpf: &mut Ebpf, name: &'static str) -> Result<Map, Error> {
    ebpf.take_map(name).ok_or_else(|| Error::Map {
        map: name,
        why: "it is not in the object".to_owned(),
    })
}

/// The XDP program that makes headroom in virtual interfaces (`cangate_room` in gateway.bpf.c).
pub(super) struct FdRoom {
    ebpf: Ebpf,
}

/// Its name in the kernel.
pub(super) const ROOM: &str = "cangate_room";

impl FdRoom {
    pub(super) fn load() -> Result<Self, Error> {
        // It uses no maps: they are freed immediately.
        let mut ebpf = loader::load(&[], &[], &[])?;
        let program: &mut Xdp = ebpf
            .program_mut(ROOM)
            .and_then(|program| program.try_into().ok())
            .ok_or_else(|| Error::Load(format!("its object lacks the program {ROOM}")))?;
        loader::verify(|| program.load()).map_err(|error| Error::Load(whole(&error)))?;
        Ok(Self { ebpf })
    }

    /// Returns the kernel's number of the program; 0 if the kernel does not report it.
    pub(super) fn number(&self) -> u32 {
        let program = self.ebpf.program(ROOM);
        let info = program.and_then(|program| program.info().ok());
        info.map_or(0, |info| info.id())
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        let program: &Xdp = self.ebpf.program(ROOM)?.try_into().ok()?;
        program.fd().ok().map(AsFd::as_fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::compile::{PortInterface, compile};
    use crate::bpf::{check, features};
    use route::parts::{
        BitMeaning, ByteOrder, FieldLayout, FieldSource, FieldTest, FieldWrite, LinearMap,
        OutOfRange, RangePolicy, SignalField,
    };
    use route::{KernelPort, PortId, Route, SignalCondition, WriteSignals};

    fn field(start: u16, order: ByteOrder) -> SignalField {
        let bits = 12;
        SignalField::new(FieldLayout { start, bits, order }, 64).unwrap()
    }

    /// A route with as many comparisons and assignments as the program takes.
    fn full_route() -> Route {
        let test = |number: u16| {
            let field = field(16 * number, ByteOrder::Intel);
            FieldTest::new(
                field,
                BitMeaning::Signed,
                (0xF00, 0x0FF),
                number.is_multiple_of(2),
            )
            .unwrap()
        };
        let copy = |number: u16| {
            let to = field(24 * number, ByteOrder::Motorola);
            let source = FieldSource::Signal {
                from: field(300, ByteOrder::Intel),
                is_signed: true,
                map: LinearMap {
                    factor: -7,
                    offset: 3,
                    divisor: 9,
                },
                range: RangePolicy::of_field(&to, BitMeaning::Signed, OutOfRange::Saturate),
            };
            FieldWrite { to, source }
        };
        let mut route = Route::new("full", vec![PortId(0)], vec![PortId(1)]);
        route.matching.when = Some(SignalCondition {
            text: String::new(),
            alternatives: (0..4).map(|n| vec![test(2 * n), test(2 * n + 1)]).collect(),
        });
        route.actions.push(
            WriteSignals {
                text: String::new(),
                writes: (0..4).map(copy).collect(),
            }
            .into(),
        );
        route
    }

    #[test]
    fn the_verifier_accepts_conditions_and_assignments() {
        let features = match features() {
            Ok(features) => features,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        };
        for max_hops in [1, 3] {
            let routes = Routes {
                routes: vec![full_route(), full_route()],
                max_hops,
                ..Routes::default()
            };
            let ports = ["a", "b"].map(|name| Some(KernelPort::new(name)));
            assert_eq!(check::survey(&routes, &ports, &[]), []);
            let interface = |ifindex| PortInterface {
                ifindex,
                fd: true,
                classic: false,
                roomy: true,
            };
            let image = compile(&routes, &[interface(1), interface(2)]);
            assert_eq!(image.conditions.len(), 2);
            for (tap, exact) in [(false, false), (true, false), (false, true)] {
                let options = BpfOptions {
                    tap,
                    exact,
                    ..BpfOptions::default()
                };
                let about = AboutMap {
                    routes: vec!["full".into(); 2],
                    ports: vec!["a".into(), "b".into()],
                    ..AboutMap::default()
                };
                let settings = ProgramSettings {
                    mark: 0xCA9A_7E00,
                    check_mtu: features.check_mtu,
                };
                TableGeneration::load(&image, &routes, about, &options, &settings).unwrap();
            }
        }
    }
}
