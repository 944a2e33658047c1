//! Brings the bench up: the table of [`crate::machine::BenchKind`].

use super::error::AgentError;
use super::orders::BenchOrders;
use super::system::{interface_at, interfaces_at, modprobe, wait_for};
use crate::devices::{
    CTU_CONTROLLERS, card_addresses, ctu_card_addresses, ethernet_addresses, vm_card_addresses,
};
use crate::machine::{BenchKind, GATEWAY_NAMESPACE as GATEWAY};
use crate::program;
use std::fs;
use std::path::{Path, PathBuf};

/// The tester's sending interface, and the number of frames that may wait in its queue. The papers
/// raised the sender's queue (gateway-2010-draft §III-C); the gateway's keeps the kernel's length,
/// which determines the frames that it loses.
const SENDER: (&str, u32) = ("can0", 200);

/// Brings the bench up.
pub(super) fn up(orders: &BenchOrders) -> Result<(), AgentError> {
    ip("link set lo up")?;
    // IPv6 is not used, and sends packets on its own, which would disturb measurements.
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    if matches!(
        orders.bench,
        BenchKind::Kvaser | BenchKind::Ctucan | BenchKind::Timed | BenchKind::Vm
    ) || orders.ethernet
    {
        ip(&format!("netns add {GATEWAY}"))?;
        ip(&format!("-n {GATEWAY} link set lo up"))?;
    }
    match orders.bench {
        BenchKind::Kvaser => kvaser(orders)?,
        BenchKind::Ctucan => ctucan(orders)?,
        BenchKind::Timed => timed(orders, [0, 1])?,
        BenchKind::Vm => {
            timed(orders, [0, 0])?;
            cards(orders)?;
            hypervisor()?;
        }
        BenchKind::Vcan => vcan()?,
        BenchKind::None => {}
    }
    if orders.ethernet {
        ethernet()?;
    }
    if let Some(cards) = orders.linked {
        super::linked::load(cards)?;
    }
    let virtio = "/lab/modules/virtio_can.ko";
    if Path::new(virtio).exists() {
        modprobe(&["can-raw", "can-dev"])?;
        program::output(None, &["insmod", virtio])?;
    }
    if Path::new("/lab/modules/shmcan.ko").exists() {
        modprobe(&["can-raw", "can-dev", "uio"])?;
        for module in ["shmcan", "shmcan_uio"] {
            program::output(None, &["insmod", &format!("/lab/modules/{module}.ko")])?;
        }
    }
    Ok(())
}

pub(super) fn ip(words: &str) -> Result<(), AgentError> {
    let mut line = vec!["ip"];
    line.extend(words.split(' '));
    program::output(None, &line)?;
    Ok(())
}

fn kvaser(orders: &BenchOrders) -> Result<(), AgentError> {
    modprobe(&["can-raw", "kvaser_pci"])?;
    // The driver finds the cards in an order that the agent cannot control: names are assigned by
    // PCI address, through a temporary name that no card has, because the final name may still be
    // another card's.
    for (name, address) in card_addresses() {
        let found = interface_at(&address)?;
        ip(&format!("link set dev {found} name new-{name}"))?;
    }
    for (name, _) in card_addresses() {
        ip(&format!("link set dev new-{name} name {name}"))?;
        start_can(orders, name)?;
    }
    Ok(())
}

/// Sets up the cards of a hypervisor, in the gateway's namespace.
fn cards(orders: &BenchOrders) -> Result<(), AgentError> {
    modprobe(&["kvaser_pci"])?;
    for (name, address) in vm_card_addresses() {
        let found = interface_at(&address)?;
        ip(&format!("link set dev {found} netns {GATEWAY} name {name}"))?;
        ip(&format!(
            "-n {GATEWAY} link set dev {name} up type can bitrate {}",
            orders.bitrate
        ))?;
    }
    Ok(())
}

/// Loads the driver of CTU CAN FD cards, which is not one of the kernel's package.
pub(super) fn load_ctucanfd() -> Result<(), AgentError> {
    modprobe(&["can-raw", "can-dev"])?;
    for module in ["ctucanfd", "ctucanfd_pci"] {
        program::output(None, &["insmod", &format!("/lab/modules/{module}.ko")])?;
    }
    Ok(())
}

fn ctucan(orders: &BenchOrders) -> Result<(), AgentError> {
    load_ctucanfd()?;
    // As above: the first card that is found is not necessarily can0.
    for (address, names) in ctu_card_addresses() {
        let found = interfaces_at(&address, CTU_CONTROLLERS)?;
        for (found, name) in found.iter().zip(names) {
            ip(&format!("link set dev {found} name new-{name}"))?;
        }
    }
    for (_, names) in ctu_card_addresses() {
        for name in names {
            ip(&format!("link set dev new-{name} name {name}"))?;
            start_can(orders, name)?;
        }
    }
    Ok(())
}

/// Returns the first port of a card's controller: the second of its regions (kvaser_pci.c).
pub(super) fn registers(address: &str) -> Result<u64, AgentError> {
    let path = PathBuf::from(format!("/sys/bus/pci/devices/{address}/resource"));
    let text = fs::read_to_string(&path).map_err(AgentError::file("read", &path))?;
    let second = text
        .lines()
        .nth(1)
        .and_then(|line| line.split(' ').next()?.strip_prefix("0x"))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    second.ok_or(AgentError::Registers { path, text })
}

/// Sets the bit rate and brings an interface up; the gateway's in its namespace.
fn start_can(orders: &BenchOrders, name: &str) -> Result<(), AgentError> {
    let mut within = String::new();
    if name.starts_with(GATEWAY) {
        ip(&format!("link set dev {name} netns {GATEWAY}"))?;
        within = format!("-n {GATEWAY} ");
    }
    let mut how = format!("bitrate {}", orders.bitrate);
    if let (Some(rate), BenchKind::Timed | BenchKind::Ctucan | BenchKind::Vm) =
        (orders.data_bitrate, orders.bench)
    {
        how.push_str(&format!(" dbitrate {rate} fd on"));
    }
    ip(&format!("{within}link set dev {name} type can {how}"))?;
    if name == SENDER.0 {
        ip(&format!("link set dev {name} txqueuelen {}", SENDER.1))?;
    }
    ip(&format!("{within}link set dev {name} up"))
}

/// Sets up both interfaces of the gateway, on these buses.
fn timed(orders: &BenchOrders, buses: [u8; 2]) -> Result<(), AgentError> {
    modprobe(&["can-raw", "can-dev"])?;
    program::output(None, &["insmod", "/lab/modules/bitcan.ko"])?;
    let device = Path::new("/dev/bitcan");
    wait_for("/dev/bitcan", || device.exists().then_some(()))?;
    let model = orders.controller.name();
    for (name, bus) in ["gw0", "gw1"].into_iter().zip(buses) {
        fs::write(device, format!("add {name} bus={bus} model={model}\n"))
            .map_err(AgentError::file("add an interface by", device))?;
        start_can(orders, name)?;
    }
    Ok(())
}

/// Sets up KVM, and virtual functions as devices of machines. KVM does not poll when a virtual
/// processor halts: on one processor polling has no benefit.
fn hypervisor() -> Result<(), AgentError> {
    program::output(None, &["modprobe", "kvm", "halt_poll_ns=0"])?;
    modprobe(&["kvm-amd"])?;
    program::output(None, &["insmod", "/lab/modules/nesting.ko"])?;
    // QEMU's IOMMU does not remap interrupts; this guest has nothing that must be protected from
    // its inner machines.
    program::output(
        None,
        &["modprobe", "vfio_iommu_type1", "allow_unsafe_interrupts=1"],
    )?;
    modprobe(&["mdev", "vfio-pci"])?;
    program::output(None, &["insmod", "/lab/modules/bitcan_mdev.ko"])?;
    let device = Path::new("/dev/kvm");
    wait_for("/dev/kvm", || device.exists().then_some(()))
}

fn vcan() -> Result<(), AgentError> {
    modprobe(&["can-raw", "vcan", "vxcan", "can-gw"])?;
    for name in ["vcan0", "vcan1"] {
        ip(&format!("link add dev {name} type vcan"))?;
        // The MTU of FD frames.
        ip(&format!("link set dev {name} mtu 72"))?;
        ip(&format!("link set dev {name} up"))?;
    }
    Ok(())
}

fn ethernet() -> Result<(), AgentError> {
    modprobe(&["e1000"])?;
    for (name, address) in ethernet_addresses() {
        let found = interface_at(&address)?;
        ip(&format!("link set dev {found} name new-{name}"))?;
    }
    let mut hardware = Vec::new();
    for (name, _) in ethernet_addresses() {
        ip(&format!("link set dev new-{name} name {name}"))?;
        let path = PathBuf::from(format!("/sys/class/net/{name}/address"));
        let text = fs::read_to_string(&path).map_err(AgentError::file("read", &path))?;
        hardware.push(text.trim().to_owned());
    }
    let [here, there] = hardware.as_slice() else {
        return Err(AgentError::Ethernet);
    };
    ip(&format!("link set dev eth1 netns {GATEWAY}"))?;
    ip("address add 192.0.2.1/24 dev eth0")?;
    ip(&format!("-n {GATEWAY} address add 192.0.2.2/24 dev eth1"))?;
    ip("link set dev eth0 up")?;
    ip(&format!("-n {GATEWAY} link set dev eth1 up"))?;
    // Static neighbour entries: no address resolution during a measurement.
    ip(&format!(
        "neighbour add 192.0.2.2 lladdr {there} dev eth0 nud permanent"
    ))?;
    ip(&format!(
        "-n {GATEWAY} neighbour add 192.0.2.1 lladdr {here} dev eth1 nud permanent"
    ))?;
    wait_for("the link of eth0", || {
        let state = fs::read_to_string("/sys/class/net/eth0/operstate").ok()?;
        (state.trim() == "up").then_some(())
    })?;
    wait_for("the link of eth1", || {
        let show = ["ip", "-n", GATEWAY, "link", "show", "dev", "eth1", "up"];
        program::output(None, &show).ok().map(drop)
    })
}
