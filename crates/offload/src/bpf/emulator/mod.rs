//! The program of a table on an emulated kernel, for tests: it runs on every machine, it counts the
//! instructions that are executed, and each access to memory is checked.
//!
//! The counted instructions are those of the object, as `llvm-objdump` prints them. The kernel
//! replaces a few: it inlines look-ups in arrays, and adds one or two to a read of `__sk_buff`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod instruction;
mod kernel;
mod machine;
mod memory;
mod program;
mod tests;

use super::BpfOptions;
use super::compile::{PortInterface, compile};
use super::constants::{ProgramConstants, ProgramSettings};
use super::contents::MapContents;
use super::layout::{PortCount, RouteCount};
use frame::{CanId, FrameRef, Kind};
use kernel::EmulatedKernel;
use machine::Machine;
use program::LinkedProgram;
use route::Routes;
use std::sync::Arc;

/// A table in an emulated kernel. Port `n` is interface `n + 1`, which carries FD frames.
pub(super) struct EmulatedTable {
    program: Arc<LinkedProgram>,
    kernel: EmulatedKernel,
}

/// The result of one frame.
pub(super) struct EmulatedRun {
    /// The copies that left: the interface, and the frame in the form of Linux.
    pub(super) sent: Vec<(u32, Vec<u8>)>,
    /// The number of instructions that were executed.
    pub(super) instructions: u64,
}

impl EmulatedTable {
    /// Loads the table of routes that `survey` has accepted.
    pub(super) fn load(routes: &Routes, ports: usize) -> Self {
        let interface = |port| PortInterface {
            ifindex: port as u32 + 1,
            fd: true,
            ..PortInterface::default()
        };
        let interfaces: Vec<_> = (0..ports).map(interface).collect();
        let image = compile(routes, &interfaces);
        let settings = ProgramSettings {
            mark: 0xCA9A_7E00,
            check_mtu: false,
        };
        let constants = ProgramConstants::of(&image, routes, &BpfOptions::default(), &settings);
        let route_counts = vec![RouteCount::default(); routes.routes.len()];
        let port_counts = vec![PortCount::default(); ports];
        let mut contents = Vec::from(image.contents());
        contents.push(MapContents::of("route_counts", &route_counts));
        contents.push(MapContents::of("port_counts", &port_counts));
        let program = LinkedProgram::with(&constants);
        let kernel = EmulatedKernel::new(program.memory(&contents));
        Self { program, kernel }
    }

    /// Runs the program for a frame that a driver received at a port.
    pub(super) fn run(&mut self, port: usize, frame: FrameRef<'_>) -> EmulatedRun {
        self.kernel.arrive(port as u32 + 1, &bytes_of(frame));
        let mut machine = Machine::new(&self.program, &mut self.kernel);
        let verdict = machine.run();
        let instructions = machine.executed();
        self.kernel.finish(verdict as u32);
        EmulatedRun {
            sent: std::mem::take(&mut self.kernel.sent),
            instructions,
        }
    }

    /// Returns the counters of a route, in the order of `struct route_count`.
    pub(super) fn counts(&self, route: usize) -> [u64; size_of::<RouteCount>() / 8] {
        let size = size_of::<RouteCount>();
        let bytes = self.kernel.memory.map("route_counts");
        let (words, _) = bytes[route * size..][..size].as_chunks();
        std::array::from_fn(|at| u64::from_le_bytes(words[at]))
    }
}

/// Returns the bytes of `struct can_frame` or `struct canfd_frame`.
fn bytes_of(frame: FrameRef<'_>) -> Vec<u8> {
    let size = match frame.kind() {
        Kind::Fd => 72,
        _ => 16,
    };
    let mut bytes = vec![0; size];
    bytes[..4].copy_from_slice(&frame.id().raw().to_le_bytes());
    bytes[4] = frame.len() as u8;
    bytes[5] = frame.header().flags();
    bytes[7] = frame.header().len8_dlc();
    // What is behind the data is not zeros in a driver's buffer.
    bytes[8..].fill(0xA5);
    if !(frame.kind() == Kind::Classic && CanId::from_raw(frame.id().raw()).is_rtr()) {
        bytes[8..8 + frame.data().len()].copy_from_slice(frame.data());
    }
    bytes
}
