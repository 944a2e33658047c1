//! Virtual machines by KVM: the one call of `kvm-ioctls` that is not safe, handing memory to a
//! machine.
//!
//! A crate of the laboratory and not a module of `linux`, because the gateway knows nothing of KVM:
//! a feature of `linux` would make the laboratory's `linux` another build than the gateway's, and
//! so of every crate above it.

#![deny(unsafe_code)]

use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::{Kvm, VmFd};
use vm_memory::{Address as _, GuestMemoryBackend as _, GuestMemoryMmap, GuestMemoryRegion as _};
use vmm_sys_util::errno::Error;

/// A virtual machine with all its memory, before it has processors.
pub struct Machine {
    /// The machine.
    pub vm: VmFd,
    /// Its memory, which this process and others read and write, too.
    pub memory: GuestMemoryMmap,
}

impl Machine {
    /// A machine with this memory. The memory stays mapped until this process ends: a machine is
    /// all that its monitor's process is for, and its processors' descriptors keep the kernel using
    /// the memory when the [`Machine`] is gone.
    ///
    /// # Errors
    /// What KVM_CREATE_VM and KVM_SET_USER_MEMORY_REGION say.
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
            // One more owner of the mapping, who never lets go.
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
