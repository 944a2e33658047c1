//! Experiments that several claims share.

use crate::data_path::DataPath;
use crate::extent::Extent;
use experiment::{
    BenchKind, Cpu, Experiment, FilterChoice, Kernel, MachineLoad, MachinePlacement, TrafficPattern,
};

/// Returns the papers' gateway: bit-timed buses, the board's controllers and speed, 4 bytes.
pub(crate) fn board(frames: u32) -> Experiment {
    Experiment {
        bench: BenchKind::Timed,
        cpu: Cpu::Board,
        frames,
        ..Experiment::default()
    }
}

/// Returns the first experiment of all: one frame at a time, no load.
pub(crate) fn simple(extent: Extent) -> Experiment {
    board(extent.pick(1000, 10_000))
}

/// Returns where the other end of a load is: the papers' Ethernet traffic came from another
/// computer (gateway-2011 §2.2, drivers-2009 §3.2).
pub(crate) const fn placement(load: MachineLoad) -> MachinePlacement {
    match load {
        MachineLoad::EthRx | MachineLoad::EthTx => MachinePlacement::Apart,
        MachineLoad::None | MachineLoad::Cpu => MachinePlacement::Together,
    }
}

/// Returns a flood through a long list.
pub(crate) fn overrun(extent: Extent, path: DataPath) -> Experiment {
    path.quickly(extent).apply_to(Experiment {
        traffic: TrafficPattern::Flood,
        filters: FilterChoice::List(2048),
        ..board(extent.pick(1000, 10_000))
    })
}

/// Returns the lab's kernels in order: those with PREEMPT_RT, or their plain twins.
pub(crate) fn kernels(rt: bool) -> Vec<Kernel> {
    Kernel::all().filter(|kernel| kernel.rt() == rt).collect()
}

/// Returns the simple gateway on a kernel.
pub(crate) fn on_kernel(extent: Extent, path: DataPath, kernel: Kernel) -> Experiment {
    path.apply_to(Experiment {
        kernel,
        ..simple(extent)
    })
}
