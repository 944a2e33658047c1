//! QEMU's command line.

use super::trace;
use crate::devices::{CARDS, CTU_CARDS, ETHERNET, LinkedCard, LinkedCards, VM_CARDS};
use crate::fetch::PackageTree;
use crate::machine::{BenchKind, TimeMode};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The configuration of a machine.
pub(crate) struct QemuOptions<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) image: &'a Path,
    /// The file for the console's text.
    pub(crate) console: &'a Path,
    /// The file for the guest's output.
    pub(crate) output: &'a Path,
    /// The FIFO for the input of a shell, if there is one.
    pub(crate) input: Option<&'a Path>,
    /// The file with the job.
    pub(crate) job: &'a Path,
    pub(crate) bench: BenchKind,
    pub(crate) ethernet: bool,
    pub(crate) time: TimeMode,
    /// The guest's memory, MiB.
    pub(crate) memory: u32,
    /// The file for the record of register accesses, if they are recorded.
    pub(crate) trace: Option<&'a Path>,
    /// The sockets of virtio CAN devices.
    pub(crate) virtio: &'a [PathBuf],
    /// The sockets of servers of shared memory.
    pub(crate) shm: &'a [PathBuf],
    /// The plugin for halts, for a machine in virtual time.
    pub(crate) halt: Option<&'a Path>,
    /// The cards on links between machines.
    pub(crate) linked: LinkedCards,
    /// In place of the plugin for halts: the plugin for several machines, with its arguments.
    pub(crate) lockstep: Option<&'a str>,
    /// The state to restore, if the machine should not boot.
    pub(crate) restore: Option<&'a Path>,
    /// The agent's orders and further parameters on the kernel's command line: words without
    /// blanks.
    pub(crate) words: Vec<String>,
}

/// The serial device with the port out of the guest.
const SERIAL: &str = "virtio-serial-pci,addr=0x8,max_ports=2,ioeventfd=off";
/// The same with an additional port into the guest.
const SERIAL_WITH_INPUT: &str = "virtio-serial-pci,addr=0x8,max_ports=3,ioeventfd=off";

/// The prefix of the path of a socket on which QEMU itself listens.
const LISTEN: &str = "listen:";

/// Returns a virtio CAN device, which is implemented by another process: it has three queues, and
/// two bytes of configuration.
fn virtio_can(number: usize) -> String {
    let device = "vhost-user-test-device-pci,virtio-id=36,num_vqs=3,vq_size=64,config_size=2";
    format!("{device},chardev=virtio{number}")
}

/// Returns a file's name for use in a QEMU option, where a comma is a separator.
pub(crate) fn quoted(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

impl QemuOptions<'_> {
    /// Returns the arguments.
    pub(crate) fn arguments(&self, tree: &PackageTree) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| all.extend(words.iter().map(OsString::from));
        // No implicit devices or settings: no floppy, no display, no file of the user's.
        add(&[
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-vga",
            "none",
        ]);
        add(&["-nic", "none", "-no-reboot"]);
        // QEMU ends when the thread that started it ends, for whatever reason.
        add(&["-run-with", "exit-with-parent=on"]);
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            add(&["-L", &tree.root().join(folder).to_string_lossy()]);
        }
        match self.time {
            TimeMode::Virtual { shift } => {
                add(&["-accel", "tcg", "-smp", "1"]);
                add(&["-icount", &format!("shift={shift},sleep=off")]);
                // The clock chip counts virtual time too: otherwise each run would differ.
                add(&["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"]);
                if let Some(plugin) = self.lockstep {
                    add(&["-plugin", plugin]);
                } else if let Some(plugin) = self.halt {
                    add(&["-plugin", &quoted(plugin)]);
                }
            }
            TimeMode::Real => add(&["-accel", "tcg", "-smp", "1", "-rtc", "base=utc"]),
            TimeMode::Fast { cpus } => {
                add(&["-accel", "tcg,thread=multi", "-smp", &cpus.to_string()]);
                // A program may be built for a newer processor than the default one.
                add(&["-cpu", "max", "-rtc", "base=utc"]);
            }
        }
        if let (BenchKind::Vm, TimeMode::Virtual { .. } | TimeMode::Real) = (self.bench, self.time)
        {
            // AMD's virtualization with nested paging, which TCG emulates.
            add(&["-cpu", "qemu64,+npt"]);
        }
        if self.bench == BenchKind::Vm {
            // A card can be assigned to an inner machine only behind an IOMMU.
            add(&["-machine", "q35", "-device", "intel-iommu"]);
        }
        add(&["-m", &self.memory.to_string()]);
        add(&[
            "-chardev",
            &format!("file,id=console,path={}", quoted(self.console)),
        ]);
        add(&["-serial", "chardev:console"]);
        // A file takes all output at once and never makes the guest wait.
        add(&[
            "-chardev",
            &format!("file,id=output,path={}", quoted(self.output)),
        ]);
        // Without ioeventfd: with it, another thread of QEMU handles the guest's writes, and the
        // interrupt that confirms them comes at a time that depends on the host.
        add(&[
            "-device",
            if self.input.is_some() {
                SERIAL_WITH_INPUT
            } else {
                SERIAL
            },
        ]);
        add(&["-device", "virtserialport,nr=1,chardev=output,name=cangate"]);
        if let Some(input) = self.input {
            add(&["-chardev", &format!("pipe,id=input,path={}", quoted(input))]);
            add(&[
                "-device",
                "virtserialport,nr=2,chardev=input,name=cangate-input",
            ]);
        }
        add(&[
            "-fw_cfg",
            &format!("name=opt/cangate/job,file={}", quoted(self.job)),
        ]);
        // The device by which the agent stops the machine so that it can be saved.
        add(&["-device", "pvpanic", "-action", "panic=pause"]);
        add(&["-chardev", "stdio,id=monitor,signal=off"]);
        add(&["-object", "monitor-qmp,id=qmp,chardev=monitor"]);
        if matches!(self.bench, BenchKind::Kvaser | BenchKind::Ctucan) {
            add(&["-object", "can-bus,id=b0", "-object", "can-bus,id=b1"]);
        }
        if self.bench == BenchKind::Vm {
            add(&["-object", "can-bus,id=b0"]);
            for (_, slot) in VM_CARDS {
                add(&["-device", &format!("kvaser_pci,canbus=b0,addr={slot:#x}")]);
            }
        }
        if self.bench == BenchKind::Ctucan {
            for (slot, [first, second], _) in CTU_CARDS {
                let card = format!("ctucan_pci,canbus0={first},canbus1={second},addr={slot:#x}");
                add(&["-device", &card]);
            }
        }
        if self.bench == BenchKind::Kvaser {
            for (_, slot, bus) in CARDS {
                add(&[
                    "-device",
                    &format!("kvaser_pci,canbus={bus},addr={slot:#x}"),
                ]);
            }
        }
        if !self.virtio.is_empty() {
            // Their process reads and writes the machine's memory.
            let memory = format!(
                "memory-backend-memfd,id=memory,size={}M,share=on",
                self.memory
            );
            add(&["-object", &memory, "-machine", "memory-backend=memory"]);
        }
        for (number, socket) in self.virtio.iter().enumerate() {
            let text = quoted(socket);
            let way = match text.strip_prefix(LISTEN) {
                Some(path) => format!("path={path},server=on,wait=on"),
                None => format!("path={text}"),
            };
            let way = format!("socket,id=virtio{number},{way}");
            add(&["-chardev", &way, "-device", &virtio_can(number)]);
        }
        for (number, socket) in self.shm.iter().enumerate() {
            let way = format!("socket,id=shm{number},path={}", quoted(socket));
            let device = format!("ivshmem-doorbell,vectors=1,chardev=shm{number}");
            add(&["-chardev", &way, "-device", &device]);
        }
        if self.ethernet {
            for (name, slot) in ETHERNET {
                add(&["-netdev", &format!("hubport,hubid=1,id={name}")]);
                add(&[
                    "-device",
                    &format!("e1000,netdev={name},addr={slot:#x},romfile="),
                ]);
            }
        }
        for LinkedCard { place, slot } in self.linked.classic_cards() {
            let card = format!("kvaser_pci,canbus=b{place},addr={slot:#x}");
            add(&["-object", &format!("can-bus,id=b{place}"), "-device", &card]);
        }
        for LinkedCard { place, slot } in self.linked.fd_cards() {
            // The card has a second controller, which needs a bus: it is alone there.
            let (bus, other) = (format!("b{place}"), format!("b{place}-spare"));
            let card = format!("ctucan_pci,canbus0={bus},canbus1={other},addr={slot:#x}");
            for bus in [bus, other] {
                add(&["-object", &format!("can-bus,id={bus}")]);
            }
            add(&["-device", &card]);
        }
        for LinkedCard { place, slot } in self.linked.ethernet_cards() {
            let card = format!("e1000,netdev=link{place},addr={slot:#x},romfile=");
            let port = format!("hubport,hubid={place},id=link{place}");
            add(&["-netdev", &port, "-device", &card]);
        }
        if let Some(file) = self.trace {
            add(&["-D", &file.to_string_lossy()]);
            for event in trace::EVENTS {
                add(&["-trace", &format!("enable={event}")]);
            }
        }
        if self.restore.is_some() {
            // The file of the state, and how to load it, comes by the monitor.
            add(&["-incoming", "defer"]);
        }
        add(&["-kernel", &self.kernel.to_string_lossy()]);
        add(&["-initrd", &self.image.to_string_lossy()]);
        add(&["-append", &self.command_line()]);
        all
    }

    fn command_line(&self) -> String {
        // No randomness and no self-tests; a panic ends the machine.
        let mut line = "console=ttyS0 quiet panic=-1 nokaslr norandmaps cryptomgr.notests \
                        net.ifnames=0 rdinit=/lab/cangate-lab"
            .to_owned();
        if !matches!(self.time, TimeMode::Virtual { .. }) {
            // A busy host delivers late the interrupts with which the kernel checks its timer, and
            // the kernel then assumes that the timer is broken ("IO-APIC + timer doesn't work").
            line.push_str(" no_timer_check");
        }
        if self.bench == BenchKind::Vm {
            line.push_str(" intel_iommu=on");
        }
        for word in &self.words {
            line.push(' ');
            line.push_str(word);
        }
        // The words after the dashes are init's arguments.
        line.push_str(" -- agent");
        line
    }
}

/// The folder of QEMU's loadable parts.
pub(crate) fn module_folder(tree: &PackageTree) -> PathBuf {
    tree.root().join("usr/lib/x86_64-linux-gnu/qemu")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(bench: BenchKind, ethernet: bool, time: TimeMode) -> Vec<String> {
        let path = Path::new("/a,b");
        QemuOptions {
            kernel: path,
            image: path,
            console: path,
            output: path,
            input: None,
            job: path,
            bench,
            ethernet,
            time,
            memory: 256,
            virtio: &[],
            shm: &[],
            restore: None,
            trace: None,
            halt: Some(Path::new("/p/halt.so")),
            linked: LinkedCards {
                classic: 1,
                fd: 1,
                ethernet: 2,
            },
            lockstep: None,
            words: vec!["cangate.bench=kvaser".to_owned()],
        }
        .arguments(&PackageTree::new("/t".into()))
        .into_iter()
        .map(|word| word.into_string().unwrap())
        .collect()
    }

    #[test]
    fn virtual_time_takes_all_that_determinism_takes() {
        let all = arguments(BenchKind::Kvaser, false, TimeMode::Virtual { shift: 2 }).join(" ");
        for part in [
            "-accel tcg -smp 1",
            "-icount shift=2,sleep=off",
            "-rtc base=2026-01-01T00:00:00,clock=vm",
            "-seed 1",
            "-plugin /p/halt.so",
            "nokaslr norandmaps",
            "exit-with-parent=on",
            "ioeventfd=off",
        ] {
            assert!(all.contains(part), "{part} in {all}");
        }
        assert_eq!(all.matches("kvaser_pci").count(), 5 + 1);
        assert!(all.contains("can-bus,id=b2 -device kvaser_pci,canbus=b2,addr=0xa"));
        let fd = "ctucan_pci,canbus0=b3,canbus1=b3-spare,addr=0xb";
        let buses = "-object can-bus,id=b3 -object can-bus,id=b3-spare";
        assert!(all.contains(&format!("{buses} -device {fd}")), "{all}");
        assert!(all.contains("hubport,hubid=3,id=link3 -device e1000,netdev=link3,addr=0x1b"));
        let all_ctu = arguments(BenchKind::Ctucan, false, TimeMode::Virtual { shift: 2 }).join(" ");
        assert_eq!(all_ctu.matches("ctucan_pci").count(), 3 + 1);
        assert_eq!(all_ctu.matches("can-bus").count(), 2 + 1 + 2);
        assert!(all.contains("path=/a,,b"));
        assert!(all.ends_with("cangate.bench=kvaser -- agent"));
    }

    #[test]
    fn a_hypervisor_has_cards_behind_an_iommu() {
        let all = arguments(BenchKind::Vm, false, TimeMode::Virtual { shift: 1 }).join(" ");
        for part in ["-machine q35", "intel-iommu", "+npt", "intel_iommu=on"] {
            assert!(all.contains(part), "{part} in {all}");
        }
        assert_eq!(all.matches("kvaser_pci,canbus=b0").count(), 2);
    }

    #[test]
    fn only_virtual_time_counts_instructions() {
        let exact = arguments(BenchKind::Kvaser, false, TimeMode::Virtual { shift: 2 }).join(" ");
        assert!(!exact.contains("no_timer_check"), "{exact}");
        for time in [TimeMode::Real, TimeMode::Fast { cpus: 2 }] {
            assert!(
                arguments(BenchKind::Vcan, false, time)
                    .join(" ")
                    .contains("no_timer_check")
            );
            let all = arguments(BenchKind::Vcan, true, time).join(" ");
            assert!(!all.contains("icount") && !all.contains("canbus=b0"));
            assert_eq!(all.matches("hubport").count(), 2 + 2);
        }
    }
}
