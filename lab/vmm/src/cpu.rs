//! The processor in the state that the PVH boot protocol requires: 32-bit, no paging, flat
//! segments.

use crate::boot::{GDT, START_INFO};
use crate::error::{VmmError, kvm};
use kvm_bindings::{KVM_MAX_CPUID_ENTRIES, Msrs, kvm_lapic_state, kvm_msr_entry, kvm_segment};
use kvm_ioctls::{Kvm, VcpuFd};
use vm_memory::{Bytes as _, GuestAddress, GuestMemoryMmap};

/// CPUID leaf 1, ECX: the deadline mode of the local timer, and the presence of a hypervisor.
const DEADLINE: u32 = 1 << 24;
const HYPERVISOR: u32 = 1 << 31;
/// CR0: protected mode, and the bit that is set on all later processors (ET).
const CR0: u64 = 1 | 1 << 4;
/// EFLAGS: the bit that is always set.
const FLAGS: u64 = 2;
/// `MSR_IA32_MISC_ENABLE`: fast strings; `MSR_MTRRdefType`: memory is cached.
const MISC_ENABLE: u32 = 0x1A0;
const MTRR_DEFAULT: u32 = 0x2FF;

/// Sets the processor up to start at `entry`.
pub(crate) fn start(
    kvm_file: &Kvm,
    cpu: &VcpuFd,
    memory: &GuestMemoryMmap,
    entry: u64,
) -> Result<(), VmmError> {
    features(kvm_file, cpu)?;
    let entry_of = |index, data| kvm_msr_entry {
        index,
        data,
        ..kvm_msr_entry::default()
    };
    let registers = [entry_of(MISC_ENABLE, 1), entry_of(MTRR_DEFAULT, 0x806)];
    let registers = Msrs::from_entries(&registers).map_err(|_| VmmError::Kvm {
        what: "hold the processor's registers",
        source: std::io::ErrorKind::InvalidInput.into(),
    })?;
    cpu.set_msrs(&registers)
        .map_err(kvm("set model-specific registers"))?;

    let mut registers = cpu.get_regs().map_err(kvm("read registers"))?;
    registers.rip = entry;
    registers.rbx = START_INFO;
    registers.rflags = FLAGS;
    cpu.set_regs(&registers).map_err(kvm("set registers"))?;
    segments(cpu, memory)?;

    let mut local = cpu.get_lapic().map_err(kvm("read the local APIC"))?;
    // Interrupts of the board's old interrupt controller come by the first line, an NMI by the
    // second.
    line(&mut local, 0x350, 0x700);
    line(&mut local, 0x360, 0x400);
    cpu.set_lapic(&local).map_err(kvm("set the local APIC"))
}

/// Enables all features that KVM supports, as QEMU's `-cpu host`.
fn features(kvm_file: &Kvm, cpu: &VcpuFd) -> Result<(), VmmError> {
    let all = kvm_file.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES);
    let mut all = all.map_err(kvm("report the processor's features"))?;
    for entry in all.as_mut_slice() {
        match entry.function {
            1 => {
                entry.ecx |= DEADLINE | HYPERVISOR;
                // The processor's number, and the number of processors.
                entry.ebx = entry.ebx & 0xFFFF | 1 << 16;
            }
            0xB => {
                entry.edx = 0;
            }
            _ => {}
        }
    }
    cpu.set_cpuid2(&all)
        .map_err(kvm("set the processor's kind"))
}

/// Sets a line of the local interrupt controller.
fn line(local: &mut kvm_lapic_state, at: usize, mode: u32) {
    for (place, byte) in local.regs.iter_mut().skip(at).zip(mode.to_le_bytes()) {
        *place = byte as _;
    }
}

/// Sets up segments over all 4 GiB, with their table in memory.
fn segments(cpu: &VcpuFd, memory: &GuestMemoryMmap) -> Result<(), VmmError> {
    let flat = |number: u16, kind: u8| kvm_segment {
        base: 0,
        limit: 0xFFFF_FFFF,
        selector: number * 8,
        type_: kind,
        present: 1,
        db: 1,
        s: 1,
        g: 1,
        ..kvm_segment::default()
    };
    let (code, data) = (flat(1, 0xB), flat(2, 3));
    let task = kvm_segment {
        limit: 0x67,
        type_: 0xB,
        db: 0,
        s: 0,
        g: 0,
        ..flat(3, 0)
    };
    // The same segments as descriptors (Intel's manual, volume 3, §3.4.5).
    let table = [
        0_u64,
        0x00CF_9B00_0000_FFFF,
        0x00CF_9300_0000_FFFF,
        0x0000_8B00_0000_0067,
    ];
    for (number, entry) in (0..).zip(table) {
        memory
            .write_obj(entry, GuestAddress(GDT + 8 * number))
            .map_err(|error| VmmError::System {
                what: "write the machine's memory",
                source: std::io::Error::other(error.to_string()),
            })?;
    }
    let mut all = cpu.get_sregs().map_err(kvm("read segments"))?;
    all.gdt.base = GDT;
    all.gdt.limit = 8 * table.len() as u16 - 1;
    all.idt.limit = 0;
    all.cs = code;
    (all.ds, all.es, all.fs, all.gs, all.ss) = (data, data, data, data, data);
    all.tr = task;
    all.cr0 = CR0;
    all.cr4 = 0;
    all.efer = 0;
    cpu.set_sregs(&all).map_err(kvm("set segments"))
}
