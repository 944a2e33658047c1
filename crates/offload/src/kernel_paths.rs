//! The list of the data paths in the kernel.

use crate::data_path::DataPath;
use crate::kernel_path::KernelPath;
use crate::{bpf, cangw};

/// All data paths in the kernel, the fastest first.
pub static KERNEL_PATHS: [&dyn KernelPath; 2] = [&bpf::BpfPath, &cangw::CanGw];

/// Returns the data path in the kernel, if `data_path` is one.
#[must_use]
pub fn kernel_path(data_path: DataPath) -> Option<&'static dyn KernelPath> {
    let mut all = KERNEL_PATHS.into_iter();
    all.find(|path| path.data_path() == data_path)
}
