//! Network and mount namespaces of a single test, with pairs of interfaces in them: frames that are
//! sent into `q0` come in at `p0`, where the table is attached.
#![allow(unsafe_code)]

use crate::bpf_common::run;
use aya::programs::{SchedClassifier, TcAttachType};
use cangate_offload::bpf::{BpfOptions, TestOptions};
use route::KernelPort;
use rustix::mount::{MountPropagationFlags, mount_change};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The namespaces of this thread and its children.
pub struct World {
    /// The kernel has CAN; otherwise the interfaces are of another kind, and only appear and
    /// disappear.
    pub can: bool,
    count: usize,
    _alone: MutexGuard<'static, ()>,
}

/// A process that another test is about to start has all sockets of this one for a moment, and thus
/// holds the same names.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks whether BPF is available. Loads modules if the kernel does not load them automatically.
pub fn bpf() -> Result<(), String> {
    for module in ["vxcan", "sch_ingress", "cls_bpf"] {
        let _ = run(&format!("modprobe {module}"));
    }
    let features = cangate_offload::bpf::features();
    features.map(drop).map_err(|why| why.to_string())
}

impl World {
    /// Creates pairs of CAN interfaces, or of another kind if there is no CAN; or returns the
    /// reason why it cannot.
    pub fn new(count: usize) -> Result<Self, String> {
        bpf()?;
        let alone = alone();
        // SAFETY: no pointers; the other threads keep their namespaces, and this one has no file
        // descriptors that it shares knowingly.
        let unshared = unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) };
        if unshared != 0 {
            return Err("namespaces cannot be made here".to_owned());
        }
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).map_err(|e| format!("mounts cannot be made private: {e}"))?;
        run("ip link set lo up")?;
        let mut world = Self {
            can: true,
            count,
            _alone: alone,
        };
        for n in 0..count {
            if world.can && world.add(n).is_err() {
                world.can = false;
            }
            if !world.can {
                world.add(n)?;
            }
        }
        Ok(world)
    }

    /// The same, and requires that frames can pass.
    pub fn can(count: usize) -> Result<Self, String> {
        let world = Self::new(count)?;
        if world.can {
            Ok(world)
        } else {
            Err("this kernel has no AF_CAN".to_owned())
        }
    }

    /// Adds a pair.
    pub fn add(&self, n: usize) -> Result<(), String> {
        let kind = if self.can { "vxcan" } else { "veth" };
        run(&format!("ip link add dev p{n} type {kind} peer name q{n}"))?;
        for side in ["p", "q"] {
            if self.can {
                run(&format!("ip link set {side}{n} mtu 72 txqueuelen 1000"))?;
            }
            run(&format!("ip link set {side}{n} up"))?;
        }
        Ok(())
    }

    /// The gateway's ports.
    pub fn ports(&self) -> Vec<Option<KernelPort>> {
        (0..self.count)
            .map(|n| Some(KernelPort::new(format!("p{n}"))))
            .collect()
    }

    /// The ways of attaching: tcx where the kernel has it, and clsact.
    pub fn ways(&self) -> Vec<BpfOptions> {
        if has_tcx() {
            vec![self.way(false), self.clsact()]
        } else {
            vec![self.clsact()]
        }
    }

    /// Filters of clsact, even where there is tcx.
    pub fn clsact(&self) -> BpfOptions {
        self.way(true)
    }

    fn way(&self, clsact: bool) -> BpfOptions {
        BpfOptions {
            test: TestOptions {
                clsact,
                any_interface: !self.can,
                ..TestOptions::default()
            },
            ..BpfOptions::default()
        }
    }
}

/// From here on bpf(2) does not exist for this thread.
pub fn without_bpf() {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let error = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let mut filter = [
        // The system call's number is the first word of `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                libc::SYS_bpf as u32,
            )
        },
        statement(libc::BPF_RET | libc::BPF_K, error),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: a pointer to a whole program, which the kernel copies before this returns.
    let set = unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// Returns whether the kernel has tcx, which is so since Linux 6.6.
pub fn has_tcx() -> bool {
    SchedClassifier::query_tcx("lo", TcAttachType::Ingress).is_ok()
}

/// Returns the output of a program.
pub fn command_output(line: &str) -> String {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap())
        .args(words)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns everything that is attached to an interface's ingress, in words; empty if nothing is.
pub fn entrance(interface: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in command_output(&format!("tc filter show dev {interface} ingress")).lines() {
        // A priority also has a line of its own.
        if line.contains("handle") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let after = |word: &str| {
                let at = words.iter().position(|there| *there == word);
                at.and_then(|at| words.get(at + 1)).copied().unwrap_or("?")
            };
            found.push(format!("filter {} {}", after("pref"), after("handle")));
        }
    }
    if command_output(&format!("tc qdisc show dev {interface}")).contains("clsact") {
        found.push("clsact".to_owned());
    }
    if let Ok((_, programs)) = SchedClassifier::query_tcx(interface, TcAttachType::Ingress) {
        let name = |info: &aya::programs::ProgramInfo| {
            format!("tcx {}", info.name_as_str().unwrap_or("?"))
        };
        found.extend(programs.iter().map(name));
    }
    if command_output(&format!("ip link show dev {interface}")).contains("xdp") {
        found.push("xdp".to_owned());
    }
    found
}

/// The same without clsact, which stays as long as the process where it was needed.
pub fn programs(interface: &str) -> Vec<String> {
    let mut there = entrance(interface);
    there.retain(|what| what != "clsact");
    there
}

/// Returns the world, or ends the test.
macro_rules! world {
    ($make:expr) => {
        match $make {
            Ok(world) => world,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        }
    };
}
pub(crate) use world;
