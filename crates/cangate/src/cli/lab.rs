//! `cangate lab …`: what can be typed.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LabCommand {
    /// Fetch and build what guests need, into a cache folder; nothing is installed.
    Setup(Setup),
    /// Run a command as root in a guest with CAN interfaces.
    Exec(Exec),
    /// Make one experiment and print its latencies.
    Measure(Measure),
    /// Search for the highest rate of frames that a gateway passes on without loss.
    Rate(Rate),
    /// Make the experiments of a matrix; what is there already is not made again.
    Run(Run),
    /// List the experiments of a matrix, or the results of a folder.
    List(List),
    /// Test the papers' claims, and write the page that says which hold.
    Reproduce(Reproduce),
    /// Inside a guest: do the job that the host left. Not for people.
    #[command(hide = true)]
    Agent,
}

/// Where the lab keeps what it fetched and built, and where it fetches from.
#[derive(Args, Debug, Clone)]
pub(crate) struct Locations {
    /// The cache folder [default: $CANGATE_LAB, else cangate/lab in $XDG_CACHE_HOME].
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// The Debian mirror to fetch from [default: $CANGATE_MIRROR, else that of the host's own apt].
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Setup {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// Kernels, separated by commas: 5.10, 6.1, 6.12, 7.3, each also with -rt.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "6.1"
    )]
    pub(crate) kernels: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// The guest's kernel.
    #[arg(long, value_name = "K", default_value = "6.1")]
    pub(crate) kernel: String,
    /// Which CAN interfaces: kvaser, timed, vcan or none.
    #[arg(long, value_name = "B", default_value = "vcan")]
    pub(crate) bench: String,
    /// Two Ethernet cards, joined: eth0 (192.0.2.1) here, eth1 (192.0.2.2) in namespace gw.
    #[arg(long)]
    pub(crate) ethernet: bool,
    /// Several cores, without virtual time: for tests that need no exact time.
    #[arg(long)]
    pub(crate) fast: bool,
    /// A file that the command needs; it is put into /lab, which is in the PATH, with its shared
    /// libraries. PATH=NAME gives it another name.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// The guest's memory in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    pub(crate) memory: u32,
    /// The guest's processors.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "fast")]
    pub(crate) cpus: u32,
    /// Give up after so many seconds of real time.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,
    /// pc, board, board:N or shift:N: how fast the guest's processor is in virtual time.
    #[arg(long, value_name = "CPU", default_value = "pc")]
    pub(crate) cpu: String,
    /// Parameters for the guest's kernel: nohz=off, or several as nohz=off+threadirqs.
    #[arg(long, value_name = "PARAMETERS", default_value = "none")]
    pub(crate) boot: String,
    /// The command, found in the guest's PATH.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What is measured: the settings that an experiment and a search for a rate share.
#[derive(Args, Debug)]
pub(crate) struct Chosen {
    /// The guest's kernel.
    #[arg(long, value_name = "K", default_value = "6.1")]
    pub(crate) kernel: String,
    /// kvaser (the real driver, no bus time) or timed (bus time).
    #[arg(long, value_name = "B", default_value = "kvaser")]
    pub(crate) bench: String,
    /// The gateway under test: cangw (can-gw with Debian's cangw), can-gw or bpf (cangate's
    /// routes in the kernel), user:read-write (cangate in user space) or none.
    #[arg(long, value_name = "G", default_value = "cangw")]
    pub(crate) gateway: String,
    /// none, cpu, eth-rx or eth-tx.
    #[arg(long, value_name = "L", default_value = "none")]
    pub(crate) load: String,
    /// Payload bytes; the first two are the frame's number.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) payload: u8,
    /// sff:COUNT, list:COUNT or eff:COUNT rules, of which the last one matches.
    #[arg(long, value_name = "KIND:COUNT", default_value = "none")]
    pub(crate) filters: String,
    /// What the gateway changes: none, copy, id, and, or, xor, set, crc8, xorsum.
    #[arg(long, value_name = "WHAT", default_value = "none")]
    pub(crate) modify: String,
    /// Passes through virtual interfaces between the two buses: N through one vcan, N:2 through
    /// two; with :vxcan behind it through pairs of vxcan.
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) hops: String,
    /// pc, board, board:N or shift:N.
    #[arg(long, value_name = "CPU", default_value = "pc")]
    pub(crate) cpu: String,
    /// Parameters for the guest's kernel: nohz=off, or several as nohz=off+threadirqs.
    #[arg(long, value_name = "PARAMETERS", default_value = "none")]
    pub(crate) boot: String,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Measure {
    #[command(flatten)]
    pub(crate) locations: Locations,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// oneatatime, load:PERCENT, flood or period:MICROSECONDS.
    #[arg(long, value_name = "T", default_value = "oneatatime")]
    pub(crate) traffic: String,
    /// How many frames.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) frames: u32,
    /// Take stamps of every Nth frame only (timed bench), to see what stamping costs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) stamp_every: u32,
    /// Measure in real time. The result says so and does not repeat.
    #[arg(long)]
    pub(crate) real_time: bool,
    /// Write the result's Parquet file here.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Rate {
    #[command(flatten)]
    pub(crate) locations: Locations,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// How many frames a try has. A gateway that is a little too slow loses frames only when its
    /// queues are full.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) frames: u32,
    /// The folder that keeps the tries; a search that was interrupted goes on there.
    #[arg(long, value_name = "DIR", default_value = "rates")]
    pub(crate) out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// The matrix.
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// The folder that keeps the results [default: the file's name without .toml, here].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Guests at a time [default: one a core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Make experiments again that failed before.
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

#[derive(Args, Debug)]
pub(crate) struct Reproduce {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// Few frames, one kernel: under five minutes on two cores.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these claims, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) claims: Vec<String>,
    /// The folder for results and the page.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub(crate) out: PathBuf,
    /// Guests at a time [default: one a core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Make experiments again that failed before.
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Only list the claims: what each says, its criterion, and the papers in full.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the table as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
