//! Virtual machines by KVM: the one unsafe call of `kvm-ioctls`, which gives memory to a machine.
//!
//! It is a crate of the laboratory and not a module of `linux`, because the gateway does not depend
//! on KVM: a feature of `linux` would make the laboratory's `linux` a different build from the
//! gateway's, and so every crate that depends on it.

#![deny(unsafe_code)]

use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::{Kvm, VmFd};
use vm_memory::{Address as _, GuestMemoryBackend as _, GuestMemoryMmap, GuestMemoryRegion as _};
use vmm_sys_util::errno::Error;

/// A virtual machine with all its memory, before it has processors.
pub struct KvmMachine {
    /// The machine.
    pub vm: VmFd,
    /// The machine's memory, which this process and others read and write, too.
    pub memory: GuestMemoryMmap,
}

impl KvmMachine {
    /// Creates a machine with this memory. The memory stays mapped until this process ends: the
    /// process of a monitor runs only one machine, and the processors' descriptors keep the kernel
    /// using the memory after the [`KvmMachine`] is dropped.
    ///
    /// # Errors
    /// The errors of KVM_CREATE_VM and KVM_SET_USER_MEMORY_REGION.
    pub fn new(kvm: &Kvm, memory: GuestMemoryMmap) -> Result<Self, Error> {
        let vm = kvm.create_vm()?;
        for (slot, region) in (0..).zip(memory.iter()) {
            let place = kvm_userspace_memory_region {
                slot,
                flags: 0,
                guest_phys_addr: region.start_addr().raw_value(),
                memory_size: region.len(),
                userspace_addr: region.as_ptr() as u64,
            };
            // One more owner of the mapping, which is never dropped.
            std::mem::forget(region.get_mmap());
            #[allow(unsafe_code)]
            // SAFETY: address and length are those of a mapping that is never unmapped, because an
            // owner of it was forgotten above. Its bytes are only reached by raw pointers and
            // volatile accesses (vm-memory), so that the machine may change them at any time.
            unsafe {
                vm.set_user_memory_region(place)?;
            }
        }
        Ok(Self { vm, memory })
    }
}
