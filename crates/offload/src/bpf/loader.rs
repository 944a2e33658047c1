//! The object that goes into the kernel, and what it is told once for all.

use super::Error;
use super::error::whole;
use aya::programs::ProgramError;
use aya::{Ebpf, EbpfLoader};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Built by `cargo xtask bpf` from crates/offload/bpf.
static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/gateway.bpf.o"));

/// One for all tables: a new loader reads the kernel's own types, megabytes of them, before it can
/// be told that no relocation asks for them.
static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

/// A number that stays as long as the loader, which borrows what it is told. There are few: they
/// change with the interfaces that there are, not with the routes.
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

/// Makes the object's maps in these sizes, and its programs ready to be looked through.
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

/// How often a program is given to the kernel: libbpf's number (`PROG_LOAD_ATTEMPTS`, bpf.c).
const ATTEMPTS: u32 = 5;

/// Gives a program to the kernel, and gives it again where a signal came meanwhile: the verifier
/// then stops with `EAGAIN` (`signal_pending` in `do_check`, kernel/bpf/verifier.c), and nothing is
/// wrong with the program. A signal for each attempt is the caller's to hear of.
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
