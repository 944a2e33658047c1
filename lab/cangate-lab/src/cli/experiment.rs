//! The options of experiments: `cangate lab measure` and `cangate lab rate`.

use super::lab::Locations;
use clap::Args;
use std::path::PathBuf;

/// The settings that an experiment and a search for a rate have in common.
#[derive(Args, Debug)]
pub(crate) struct Chosen {
    /// The guest's kernel: 5.10, 6.1, 6.12 or 7.3, each also with -rt.
    ///
    /// These are Debian's kernels; -rt is the PREEMPT_RT flavour. Example: --kernel 6.12-rt
    #[arg(long, value_name = "KERNEL", default_value = "6.1")]
    pub(crate) kernel: String,
    /// The CAN interfaces: kvaser, ctucan (real drivers, no bus time), timed or vm (bit time).
    ///
    ///   kvaser  emulated SJA1000 cards with the in-tree driver; frames take no bus time
    ///   ctucan  emulated CTU CAN FD cards with the kernel's driver; frames take no bus time
    ///   timed   interfaces of kmod/bitcan on buses with bit time: 1 Mbit/s, FD data 4 Mbit/s
    ///   vm      two such interfaces on one bus, in a guest that runs inner machines
    ///
    /// Example: --bench timed
    #[arg(
        long,
        value_name = "BENCH",
        default_value = "kvaser",
        verbatim_doc_comment
    )]
    pub(crate) bench: String,
    /// The gateway under test: cangw, can-gw, bpf, user:RECEIVE-TRANSMIT, direct, direct:irq,
    /// chardev, baremetal, baremetal:irq, baremetal:ideal, vm:native, vm:host, vm:own, vm:driver,
    /// vm:vf, vm:card, vm:trap, ideal or none.
    ///
    ///   cangw        can-gw in the kernel; Debian's program cangw adds the rules
    ///   can-gw       can-gw in the kernel; cangate adds the rules (offload = "can-gw")
    ///   bpf          cangate's BPF program in the kernel (offload = "bpf")
    ///   user:RX-TX   cangate in user space, which receives and transmits in these ways
    ///   direct       cangate on two controllers in its own memory, polling (timed bench only)
    ///   direct:irq   the same, by interrupt
    ///   chardev      cangate on two character devices (timed bench only)
    ///   baremetal    an image without an operating system, on a timed bench inside it, polling
    ///   baremetal:irq    the same, by interrupt
    ///   baremetal:ideal  the cost of that bench itself
    ///   vm:native    no gateway: round trips of a program on the hypervisor itself (vm bench only)
    ///   vm:host      the same from an inner machine; cangate shares the controller by virtio
    ///   vm:own       as vm:host, with our own monitor in QEMU's place
    ///   vm:driver    the same; a machine that owns the controller routes, by shared memory
    ///   vm:vf        the same; the machine drives a virtual function; the controller shares itself
    ///   vm:card      as vm:native, on an SJA1000 on a PCI card, whose bus takes no time
    ///   vm:trap      the same from an inner machine that has this card; each register is an exit
    ///   ideal        a gateway without software: what the bench itself costs
    ///   none         no gateway: the precision of the tester (kvaser bench only)
    ///
    /// Ways to receive (RX), as `receive` in gateway.toml:
    ///   read                one read(2) for each frame, after poll(2)
    ///   read-nonblock       read(2) in a loop (busy)
    ///   read-busypoll       the same, and each call polls the driver: SO_BUSY_POLL (busy)
    ///   read-noirq          the same with the interface's interrupts deferred (busy)
    ///   recvmmsg            up to 64 frames for each recvmmsg(2), after poll(2)
    ///   ring                from a ring in memory (PACKET_MMAP), after poll(2)
    ///   ring-busy           the same ring, polled in a loop (busy)
    ///   io_uring            by io_uring, with buffers that the kernel chooses
    ///
    /// Ways to transmit (TX), as `transmit` in gateway.toml:
    ///   write               one write(2) for each frame
    ///   sendmmsg            all frames of a batch with one sendmmsg(2)
    ///   ring                into a ring in memory (PACKET_MMAP), one send(2) for a batch
    ///   ring-bypass         the same, past the interface's queueing discipline
    ///   io_uring            by io_uring
    ///
    /// Busy ways never leave the processor. The guest has one processor, so that such a gateway
    /// runs without real-time priority; the others have priority 90.
    ///
    /// The names of the paper (syscalls-2014, Table 3.1) mean the same pairs: readnb-write is
    /// read-nonblock-write, readbusy-write is read-busypoll-write, readbusynoirq-write is
    /// read-noirq-write, mmap is ring, mmapbusy is ring-busy, mmsg is recvmmsg and
    /// sendmmsg.
    ///
    /// Examples: --gateway bpf, --gateway user:read-write, --gateway user:ring-ring
    #[arg(
        long,
        value_name = "GATEWAY",
        default_value = "cangw",
        verbatim_doc_comment
    )]
    pub(crate) gateway: String,
    /// Other work of the gateway's machine: none, cpu, eth-rx or eth-tx.
    ///
    ///   none    no other work
    ///   cpu     hackbench with 400 tasks
    ///   eth-rx  flood ping with 60000 bytes to the gateway
    ///   eth-tx  flood ping with 60000 bytes from the gateway
    ///
    /// Example: --load eth-rx
    #[arg(
        long,
        value_name = "LOAD",
        default_value = "none",
        verbatim_doc_comment
    )]
    pub(crate) load: String,
    /// Payload bytes: 2 to 8, of round trips also 0 and 1; except on kvaser and vm also 12, 16, 20,
    /// 24, 32, 48 or 64 (FD).
    ///
    /// The first two bytes are the number of the frame. Example: --payload 8
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) payload: u8,
    /// Number and kind of the gateway's rules: none, sff:N, list:N or eff:N.
    ///
    ///   none    one rule that takes all frames
    ///           Example: --filters none
    ///   sff:N   N rules, each for one SFF ID; can-gw keeps them in a table
    ///           Example with a rule for each SFF ID: --filters sff:2048
    ///   list:N  N rules, each for one ID in SFF or EFF; can-gw searches them one after the other
    ///           Example with a long list: --filters list:2048
    ///   eff:N   N rules, each for one EFF ID; can-gw hashes them
    ///           Example: --filters eff:512
    ///
    /// Only the last rule matches the frames that are sent. N is 1 to 2048; for eff up to 100000
    /// with the gateways bpf and user:….
    #[arg(
        long,
        value_name = "FILTERS",
        default_value = "none",
        verbatim_doc_comment
    )]
    pub(crate) filters: String,
    /// How the gateway changes each frame: none, copy, id, and, or, xor, set, crc8 or xorsum.
    ///
    ///   none          no change
    ///   copy          set the ID to the value it has: the cost of can-gw's copy alone
    ///   id            set the ID to another value
    ///   and, or, xor  change the payload
    ///   set           set the length to the value it has
    ///   crc8          set the length, and write a CRC8 checksum
    ///   xorsum        set the length, and write an XOR checksum
    ///
    /// Example: --modify crc8
    #[arg(
        long,
        value_name = "CHANGE",
        default_value = "none",
        verbatim_doc_comment
    )]
    pub(crate) modify: String,
    /// Passes through virtual interfaces between the two buses: N, N:2, N:vxcan or N:2:vxcan.
    ///
    /// A pass is one more way through the gateway: a rule sends the frame into a virtual interface,
    /// and the next rule takes it from there.
    ///
    ///   N          N passes, 0 to 5, through one vcan interface
    ///              Example with no pass: --hops 0. With three: --hops 3
    ///   N:2        N passes, 2 or 4, through a chain of two vcan interfaces
    ///              Example: --hops 4:2
    ///   N:vxcan    N passes through one pair of vxcan interfaces: frames into one come out of the
    ///              other. Example: --hops 1:vxcan
    ///   N:2:vxcan  N passes, 2 or 4, through a chain of two vxcan pairs
    ///              Example: --hops 4:2:vxcan
    ///
    /// The gateways can-gw, bpf and user:read-write need vxcan.
    #[arg(long, value_name = "HOPS", default_value = "0", verbatim_doc_comment)]
    pub(crate) hops: String,
    /// The guest's processor in virtual time: pc, board, board:N or shift:N.
    ///
    ///   pc       a fast processor: 2 ns for each instruction; SJA1000 controllers
    ///            Example: --cpu pc
    ///   board    the papers' board: 4 ns for each instruction; MSCAN controllers
    ///            Example: --cpu board
    ///   board:N  a board of another speed: 2^N ns for each instruction, N from 0 to 10; MSCAN
    ///            controllers. Example with 16 ns: --cpu board:4
    ///   shift:N a processor of another speed: 2^N ns for each instruction, N from 0 to 10; SJA1000
    ///            controllers. Example with 8 ns: --cpu shift:3
    ///
    /// The controllers are those of the timed bench. An SJA1000 has one transmit buffer; an MSCAN
    /// has three, and a receive FIFO of four frames.
    #[arg(long, value_name = "CPU", default_value = "pc", verbatim_doc_comment)]
    pub(crate) cpu: String,
    /// Priorities on the gateway's processor: gateway, ordinary or softirq.
    ///
    ///   gateway   a gateway in user space has real-time priority 90, but not with a busy way
    ///   ordinary  it is an ordinary process
    ///   softirq   it is an ordinary process, and ksoftirqd has real-time priority 50
    ///
    /// Example: --priority softirq
    #[arg(
        long,
        value_name = "WHO",
        default_value = "gateway",
        verbatim_doc_comment
    )]
    pub(crate) priority: String,
    /// Tuning of the kernel: irq-thread:N, softirq-thread:N, threaded-napi, netdev-budget:N,
    /// joined by +; or none.
    ///
    ///   irq-thread:N     the interrupt threads of the CAN controllers have real-time priority N,
    ///                    1 to 99; the kernel's is 50. Kernels with -rt have such threads, others
    ///                    with the kernel's parameter threadirqs
    ///   softirq-thread:N ksoftirqd has real-time priority N, 1 to 99; by default it has none
    ///   threaded-napi    received frames are read in threads (mscan controllers: --cpu board);
    ///                    with irq-thread:N, these have priority N, too
    ///   netdev-budget:N  at most N frames in one run of the receive soft interrupt, 1 to 100000
    ///
    /// Examples: --tuning irq-thread:95, --tuning threaded-napi+netdev-budget:1
    #[arg(
        long,
        value_name = "TUNING",
        default_value = "none",
        verbatim_doc_comment
    )]
    pub(crate) tuning: String,
    /// Parameters for the guest's kernel, joined by +; none for no parameter.
    ///
    /// Parameters that the lab sets itself are refused.
    ///
    /// Examples: --boot nohz=off, --boot nohz=off+threadirqs
    #[arg(long, value_name = "PARAMETERS", default_value = "none")]
    pub(crate) boot: String,
    /// Nanoseconds that each exit of an inner machine takes in addition to KVM's work for it: 0 to
    /// 100000.
    ///
    /// Virtual time includes the hypervisor's instructions, but not the time that hardware needs to
    /// leave and to enter a machine. Example: --exit-cost 1000
    #[arg(long, value_name = "NS", default_value_t = 0)]
    pub(crate) exit_cost: u32,
    /// Machines that share the controller, 1 to 8: one asks, the others send at the same time (vm
    /// bench only).
    ///
    /// With vm:native, programs on controllers of their own. Example: --machines 8
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) machines: u8,
    /// Frames of the machines other than the one that asks: flood, load:PERCENT or babble.
    ///
    ///   flood         as fast as they can, frames of 8 bytes with a lower priority
    ///   load:PERCENT  together about this share of the bus's capacity, with a lower priority
    ///   babble        like flood, but the last has a higher priority than the one that asks
    ///
    /// Example: --machines 4 --others load:50
    #[arg(
        long,
        value_name = "TRAFFIC",
        default_value = "flood",
        verbatim_doc_comment
    )]
    pub(crate) others: String,
    /// The order in which frames of several machines are sent: priority or fifo.
    ///
    ///   priority  the highest priority first, as far as the way allows
    ///   fifo      in order of arrival, in one queue: the highest priority waits behind all others
    ///
    /// Example: --machines 4 --order fifo
    #[arg(
        long,
        value_name = "ORDER",
        default_value = "priority",
        verbatim_doc_comment
    )]
    pub(crate) order: String,
    /// Frames per second that each machine other than the one that asks may send; 0: no limit.
    ///
    /// Example: --machines 2 --others babble --budget 500
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) budget: u32,
    /// The incident in the middle of the round trips: none, kill, pause, reset or bus-off.
    ///
    ///   kill     the first of the other machines is killed with its monitor (SIGKILL)
    ///   pause    that machine is stopped with its monitor for 50 ms (SIGSTOP)
    ///   reset    that machine is reset, as by its reset button, and boots
    ///   bus-off  the controller that all share goes bus-off, and its owner restarts it
    ///
    /// After kill and reset the machine is started again. Example: --machines 3 --incident kill
    #[arg(
        long,
        value_name = "INCIDENT",
        default_value = "none",
        verbatim_doc_comment
    )]
    pub(crate) incident: String,
    /// Seed of the random payload bytes.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Measure {
    #[command(flatten)]
    pub(crate) locations: Locations,
    /// The task to measure: gateway, round-trip, loop or receive.
    ///
    ///   gateway     the latency of a gateway between two buses
    ///   round-trip  two programs on two controllers of one bus ask and answer each other, as
    ///               `cangate ping` does; --gateway says by which ways both receive and transmit
    ///   loop        a program sends on one controller and waits for its own frame, as
    ///               `cangate ping --own` does; on the bench vm
    ///   receive     the number of a node's frames that arrive in a program; on the bench vm
    ///
    /// Example: --task round-trip --gateway user:read-write --bench timed
    #[arg(
        long,
        value_name = "TASK",
        default_value = "gateway",
        verbatim_doc_comment
    )]
    pub(crate) task: String,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// When frames are sent: oneatatime, load:PERCENT, flood or period:MICROSECONDS.
    ///
    ///   oneatatime           the next frame after the previous one came out, or after 1 s
    ///   load:PERCENT         a bus load of 1 to 100 per cent (timed bench only)
    ///   flood                as fast as the bus takes the frames
    ///   period:MICROSECONDS  one frame per period, 0.001 to 10000000 microseconds
    ///
    /// Example: --traffic load:50
    #[arg(
        long,
        value_name = "TRAFFIC",
        default_value = "oneatatime",
        verbatim_doc_comment
    )]
    pub(crate) traffic: String,
    /// Replay this log instead, at its own times (timed bench only).
    ///
    /// The tester is one node with one transmit buffer, and sends the frames in the order of the
    /// log. The number of the frame replaces the first two payload bytes. All identifiers pass the
    /// gateway unchanged.
    ///
    /// Example: --log worst.log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["traffic", "frames", "payload"])]
    pub(crate) log: Option<PathBuf>,
    /// With --log: the frames of this interface are sent on the outgoing bus, in addition to the
    /// gateway's.
    ///
    /// Example: --log-out logger
    #[arg(long, value_name = "INTERFACE", requires = "log")]
    pub(crate) log_out: Option<String>,
    /// Number of frames, 1 to 65536.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) frames: u32,
    /// On the timed bench: stamp only every Nth frame, to measure the cost of stamping.
    ///
    /// Example: --stamp-every 10
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) stamp_every: u32,
    /// Measure in real time instead of virtual time (kvaser bench only).
    ///
    /// Such a result is not reproducible; the result states that its time is real.
    #[arg(long)]
    pub(crate) real_time: bool,
    /// Do not measure the ideal gateway in addition.
    ///
    /// It shows which part of the latency is the bench's, and takes one more guest.
    #[arg(long)]
    pub(crate) no_floor: bool,
    /// Write the result to this Parquet file.
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
    /// Number of frames in each attempt, 1 to 65536.
    ///
    /// If a gateway is only a little too slow, it loses frames only after its queues are full. Few
    /// frames therefore give too high a rate.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) frames: u32,
    /// The folder for the results of all attempts; an interrupted search continues from it.
    #[arg(long, value_name = "DIR", default_value = "rates")]
    pub(crate) out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use crate::cli::Cli;
    use clap::CommandFactory;
    use experiment::settings::Setting;
    use experiment::{Cpu, Experiment, FilterChoice, HopChoice};
    use std::fmt::Debug;
    use std::str::FromStr;

    /// Returns the help of `cangate lab measure` for an option.
    fn help(option: &str) -> String {
        let command = Cli::command();
        let measure = command.find_subcommand("measure").unwrap();
        let mut arguments = measure.get_arguments();
        let argument = arguments.find(|a| a.get_long() == Some(option)).unwrap();
        argument.get_long_help().unwrap().to_string()
    }

    /// Returns the examples in an option's help, each of which is a value.
    fn examples<T: FromStr<Err: Debug>>(option: &str) -> Vec<String> {
        let help = help(option);
        let mark = format!("--{option} ");
        let after = help.split(mark.as_str()).skip(1);
        let words = after.map(|rest| rest.split_whitespace().next().unwrap());
        let words: Vec<String> = words
            .map(|word| word.trim_end_matches('.').to_owned())
            .collect();
        for word in &words {
            word.parse::<T>().unwrap();
        }
        words
    }

    #[test]
    fn each_word_of_a_setting_has_an_example() {
        for (option, words, given) in [
            (
                "cpu",
                ["pc", "board", "board:", "shift:"],
                examples::<Cpu>("cpu"),
            ),
            (
                "filters",
                ["none", "sff:", "list:", "eff:"],
                examples::<FilterChoice>("filters"),
            ),
            (
                "hops",
                ["0", ":2", ":vxcan", ":2:vxcan"],
                examples::<HopChoice>("hops"),
            ),
        ] {
            for word in words {
                let is = |example: &String| match word.strip_suffix(':') {
                    Some(_) => example.starts_with(word),
                    None if word.starts_with(':') => example.get(1..) == Some(word),
                    None => example == word,
                };
                assert!(given.iter().any(is), "--{option} {word}: {given:?}");
            }
        }
    }

    #[test]
    fn examples_of_settings_can_be_measured() {
        for (setting, words) in [
            (Setting::Cpu, examples::<Cpu>("cpu")),
            (Setting::Filters, examples::<FilterChoice>("filters")),
            (Setting::Hops, examples::<HopChoice>("hops")),
        ] {
            for word in words {
                let experiment = Experiment::from_words([(setting, word.as_str())]).unwrap();
                experiment
                    .check()
                    .unwrap_or_else(|why| panic!("{setting:?} {word}: {why:?}"));
            }
        }
    }
}
