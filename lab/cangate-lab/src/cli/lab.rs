//! The options of the commands that run guests.

use super::settings::{OfExec, OfShell, SettingOptions};
use clap::Args;
use std::path::PathBuf;

/// The monitor of an inner machine.
#[derive(Args, Debug)]
pub(crate) struct Monitor {
    /// The machine's kernel: an uncompressed vmlinux with a PVH entry.
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: PathBuf,
    /// Its initial file system.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: PathBuf,
    /// Its kernel's command line.
    #[arg(long, value_name = "TEXT")]
    pub(crate) line: String,
    /// Its memory, MiB: 16 to 3072.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..=3072))]
    pub(crate) memory: u64,
    /// The file for its console.
    #[arg(long, value_name = "FILE")]
    pub(crate) console: PathBuf,
    /// The socket of its second serial line, which is created.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) agent: PathBuf,
    /// Add a virtio CAN device behind this socket. Can be given several times.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) virtio: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Inner {
    /// Add a virtio CAN device behind this socket: can0 and so on. Can be given several times.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) virtio: Vec<PathBuf>,
    /// Make the machine one side of the memory that `cangate shm` serves at this socket. Can be
    /// given several times.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) shm: Vec<PathBuf>,
    /// Give the machine this PCI device of the guest's, by its folder in sysfs. Can be given
    /// several times.
    #[arg(long, value_name = "DIR")]
    pub(crate) pci: Vec<PathBuf>,
    /// The machine's name, for its files in /run.
    #[arg(long, value_name = "NAME", default_value = "vm")]
    pub(crate) name: String,
    /// The machine's monitor: qemu, or own, which has virtio devices only.
    #[arg(long, value_name = "MONITOR", default_value = "qemu")]
    pub(crate) monitor: InnerMonitor,
    /// The command with its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// The program that is an inner machine's monitor.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum InnerMonitor {
    /// QEMU.
    Qemu,
    /// Our own.
    Own,
}

/// The cache folder, where packages come from, and the gateway under test.
#[derive(Args, Debug, Clone)]
pub(crate) struct Locations {
    /// The cache folder [default: $CANGATE_LAB, else cangate/lab in $XDG_CACHE_HOME or ~/.cache].
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// The Debian mirror [default: $CANGATE_MIRROR, else the mirror of the host's apt].
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
    /// The program `cangate` that guests get: the gateway under test [default: the one beside
    /// cangate-lab, else the one in PATH].
    #[arg(long, value_name = "PATH")]
    pub(crate) cangate: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Setup {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// Kernels, separated by commas.
    ///
    /// Debian's kernels 5.10, 6.1, 6.12 and 7.3; with -rt the PREEMPT_RT flavour.
    ///
    /// Example: --kernels 6.1,6.12-rt
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "6.1"
    )]
    pub(crate) kernels: Vec<String>,
}

/// A guest of the user's: its CAN interfaces, devices, files and memory.
#[derive(Args, Debug)]
pub(crate) struct GuestOptions {
    /// The guest's CAN interfaces: kvaser, ctucan, timed, vm, vcan or none.
    ///
    ///   kvaser  five emulated SJA1000 cards with the in-tree driver, two buses; no bus time
    ///   ctucan  the same roles on emulated CTU CAN FD cards, with FD on; no bus time
    ///   timed   gw0 and gw1 of kmod/bitcan in namespace gw, on two buses with bit time
    ///   vm      as timed, with both on one bus; KVM, and what inner machines are made of
    ///   vcan    vcan0 and vcan1
    ///   none    no CAN interface
    ///
    /// Example: --bench timed
    #[arg(
        long,
        value_name = "BENCH",
        default_value = "vcan",
        verbatim_doc_comment
    )]
    pub(crate) bench: String,
    /// Add two connected Ethernet cards: eth0 (192.0.2.1), and eth1 (192.0.2.2) in namespace gw.
    #[arg(long)]
    pub(crate) ethernet: bool,
    /// Add a virtio CAN device behind this socket: can0 and so on, with Linux's driver (--kernel
    /// 7.3).
    ///
    /// The socket is that of a port of kind "virtio" of a running gateway. With listen:SOCKET the
    /// guest's QEMU listens, and waits for the gateway. Can be given several times.
    ///
    /// Example: --virtio /run/cangate/vm1.sock
    #[arg(long, value_name = "SOCKET")]
    pub(crate) virtio: Vec<PathBuf>,
    /// Make the guest one side of the memory that `cangate shm` serves at this socket: can0 and so
    /// on.
    ///
    /// The drivers of kmod/shmcan are loaded. Can be given several times.
    ///
    /// Example: --shm /run/cangate/vm1.shm
    #[arg(long, value_name = "SOCKET")]
    pub(crate) shm: Vec<PathBuf>,
    /// Copy this file, with its shared libraries, into /lab, which is in the guest's PATH.
    ///
    /// Can be given several times. PATH=NAME gives the file another name.
    ///
    /// Example: --file target/debug/my_test=my_test
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// The guest's memory in MiB [default: 512; 1536 on the bench vm].
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) locations: Locations,
    #[command(flatten)]
    pub(crate) settings: SettingOptions<OfExec>,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
    /// Run with several processors and in real time: for tests that need no exact time.
    #[arg(long)]
    pub(crate) fast: bool,
    /// With --fast: number of the guest's processors.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "fast")]
    pub(crate) cpus: u32,
    /// Stop the guest after this many seconds of real time.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,
    /// The command with its arguments; it is searched in the guest's PATH.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  A shell with five CAN cards on two buses
      cangate lab shell --bench kvaser
  Commands from a pipe
      echo 'ip link' | cangate lab shell

`exit` or Ctrl-D ends the shell and the guest. The exit status is that of the shell. The guest uses the
host's clock: figures from it do not repeat. `cangate lab exec` runs a command in virtual time.")]
pub(crate) struct Shell {
    #[command(flatten)]
    pub(crate) locations: Locations,
    #[command(flatten)]
    pub(crate) settings: SettingOptions<OfShell>,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
}

#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Two machines, an Ethernet link, and what they print
      cangate lab machines examples/machines/two.toml
  Three machines on a CAN bus; its log, and who asked for each frame and when
      cangate lab machines examples/machines/bus.toml --log logs
  A tunnel between two gateways, and what it costs each frame
      cangate lab machines lab/tunnels/plan.toml --match left:right

The exit status is that of the first machine, in the order of the plan, whose command does not end with 0.
docs/lockstep.md describes plans, and what is exact.")]
pub(crate) struct Machines {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// The plan: machines with their commands, and links.
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,
    /// Write into this folder what happened on each link (LINK.log, as candump's, or LINK.pcap; and
    /// LINK.csv), and the output of each machine (MACHINE.out, MACHINE.err).
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
    /// Match the frames of two CAN links: which frames of nodes on FROM a gateway sent on TO, how
    /// late, and with which gaps.
    ///
    /// A machine on several links is a gateway, one on a single link is a node. Can be given
    /// several times.
    ///
    /// Example: --match left:right
    #[arg(long = "match", value_name = "FROM:TO")]
    pub(crate) matches: Vec<String>,
    /// Stop the machines after this many seconds of real time.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub(crate) timeout: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// The matrix file; docs/reproduction.md describes it.
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// The folder for the results [default: the matrix file's name without .toml].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of guests that run at the same time [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Run experiments that failed before again.
    #[arg(long)]
    pub(crate) retry_failed: bool,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// A matrix file, or a folder with results.
    #[arg(value_name = "FILE.toml|DIR")]
    pub(crate) what: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The word in place of claims that lists them.
pub(crate) const LIST_CLAIMS: &str = "list";

#[derive(Args, Debug)]
pub(crate) struct Reproduce {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// Use few frames and one kernel: about ten minutes on two cores.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Test only these claims, separated by commas [default: all]. Without a value, or with `list`,
    /// only list the claims.
    ///
    /// G1 to G12, D1 to D8 and S1 to S7 are the papers' claims. With /user, /bpf or /can-gw, it is
    /// the same claim for cangate in user space, for its BPF program, or for its own can-gw rules:
    /// G4/bpf. G4 alone means G4 and all of these. O1 to O27 are bounds that cangate is to keep.
    ///
    /// Example: --claims G4,G5/bpf,O1
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1,
          default_missing_value = LIST_CLAIMS)]
    pub(crate) claims: Vec<String>,
    /// Leave out the claims whose guests have virtual machines of their own (V1 and others; with
    /// `--list`, see which are left): these guests take most of the time.
    ///
    /// With the same --out, a later run without this option makes only the experiments that were
    /// left out.
    #[arg(long)]
    pub(crate) without_machines: bool,
    /// Leave out the claims that search for the highest rate (with `--list`, see which are left):
    /// the experiments of a search wait for one another.
    ///
    /// With the same --out, a later run without this option makes only the experiments that were
    /// left out.
    #[arg(long)]
    pub(crate) without_searches: bool,
    /// The folder for the results and the page.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub(crate) out: PathBuf,
    /// Number of guests that run at the same time [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Run experiments that failed before again.
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Only list the claims in full: each claim, the paper's figure, the criterion, and the papers.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the table as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
