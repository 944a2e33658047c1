//! The object that is loaded into the kernel, and the constants that are set in it.

use super::Error;
use super::error::whole;
use aya::programs::ProgramError;
use aya::{Ebpf, EbpfLoader};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Built by `cargo xtask bpf` from crates/offload/bpf.
pub(super) static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/gateway.bpf.o"));

/// One loader for all tables: a new loader reads the kernel's BTF, which has megabytes, before it
/// can be configured not to do so; no relocation needs it.
static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

/// Returns a reference to a number that lives as long as the loader, which borrows its settings.
/// There are few numbers: they depend on the interfaces, not on the routes.
fn lasting(number: u32) -> &'static u32 {
    static KNOWN: Mutex<BTreeSet<&'static u32>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lasting) = known.get(&number) {
        return lasting;
    }
    let lasting: &'static u32 = Box::leak(Box::new(number));
    known.insert(lasting);
    lasting
}

/// Creates the object's maps in these sizes, and prepares its programs for verification.
pub(super) fn load(
    flags: &[(&'static str, bool)],
    numbers: &[(&'static str, u32)],
    sizes: &[(&'static str, u32)],
) -> Result<Ebpf, Error> {
    let mut loader = LOADER.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, flag) in flags {
        let flag: &'static u8 = if *flag { &1 } else { &0 };
        loader.override_global(name, flag, true);
    }
    for (name, number) in numbers {
        loader.override_global(name, lasting(*number), true);
    }
    for (name, size) in sizes {
        loader.map_max_entries(name, *size);
    }
    loader
        .load(OBJECT)
        .map_err(|error| Error::Load(whole(&error)))
}

/// Maximum number of attempts to load a program: the same as in libbpf (`PROG_LOAD_ATTEMPTS`,
/// bpf.c).
const ATTEMPTS: u32 = 5;

/// Loads a program into the kernel, and tries again if a signal arrived meanwhile: the verifier
/// then stops with `EAGAIN` (`signal_pending` in `do_check`, kernel/bpf/verifier.c), although the
/// program is correct. If a signal interrupts each attempt, the caller gets the error.
pub(super) fn verify(
    mut load: impl FnMut() -> Result<(), ProgramError>,
) -> Result<(), ProgramError> {
    for _ in 1..ATTEMPTS {
        match load() {
            Err(ProgramError::LoadError { io_error, .. })
                if io_error.kind() == ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
    load()
}
