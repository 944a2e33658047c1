//! Queueing disciplines, their filters, and XDP programs, over rtnetlink
//! (`uapi/linux/rtnetlink.h`, `pkt_sched.h`, `pkt_cls.h`, `if_link.h`).

use linux::link::IFINFO;
use linux::netlink::{
    CREATE, EXCLUSIVE, Error, KernelRefusal, NetlinkSocket, attribute, attributes, inner, nested,
    number, text,
};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

const RTM_SETLINK: u16 = 19;
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
const RTM_GETTFILTER: u16 = 46;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_FLAGS: u16 = 3;
const XDP_FLAGS_UPDATE_IF_NOEXIST: u32 = 1;
const XDP_FLAGS_SKB_MODE: u32 = 2;

/// `TC_H_CLSACT`, which is also `TC_H_INGRESS`, and its handle.
const CLSACT: u32 = 0xFFFF_FFF1;
const CLSACT_HANDLE: u32 = 0xFFFF_0000;
/// The parents of filters for frames that come in, and of those for frames that go out.
pub(super) const INGRESS: u32 = 0xFFFF_FFF2;
pub(super) const EGRESS: u32 = 0xFFFF_FFF3;
/// The interface that every network namespace has (`LOOPBACK_IFINDEX`).
const LOOPBACK: u32 = 1;
/// Bytes of `struct tcmsg`.
const TCMSG: usize = 20;
const ETH_P_ALL: u16 = 3;

/// The priority of cangate's filter among those of clsact; lower is earlier. tc's own choice starts
/// at 49152.
const PRIORITY: u16 = 0x0CA6;
const HANDLE: u32 = 1;
/// The name that cangate's filter carries.
pub(super) const NAME: &str = "cangate";

/// A filter from the kernel's list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct TcFilter {
    pub(super) priority: u16,
    pub(super) handle: u32,
    /// `bpf`, `flower`, …
    pub(super) kind: String,
    /// The name of a BPF program.
    pub(super) name: String,
    /// Its number in the kernel.
    pub(super) program: u32,
}

impl TcFilter {
    /// Returns whether it has the priority and handle of cangate's filter.
    pub(super) fn in_our_place(&self) -> bool {
        self.priority == PRIORITY && self.handle == HANDLE
    }

    /// Returns whether it is cangate's filter.
    pub(super) fn is_ours(&self) -> bool {
        self.in_our_place() && self.kind == "bpf" && self.name == NAME
    }
}

fn tcmsg(interface: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    for word in [interface, handle, parent, info] {
        body.extend(word.to_ne_bytes());
    }
    body
}

fn string(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

/// Returns whether the interface has a clsact or ingress queueing discipline.
pub(super) fn has_clsact(netlink: &mut NetlinkSocket, interface: u32) -> Result<bool, Error> {
    let listed = netlink.list(RTM_GETQDISC, tcmsg(interface, 0, 0, 0))?;
    Ok(listed.unwrap_or_default().iter().any(|(_, body)| {
        // Kernels before 6.? list those of all interfaces.
        word(body, 4) == interface && word(body, 12) == CLSACT
    }))
}

/// Adds clsact.
pub(super) fn add_clsact(
    netlink: &mut NetlinkSocket,
    interface: u32,
) -> Result<Option<KernelRefusal>, Error> {
    let mut body = tcmsg(interface, CLSACT_HANDLE, CLSACT, 0);
    attribute(&mut body, TCA_KIND, &string("clsact"));
    netlink.change(RTM_NEWQDISC, CREATE | EXCLUSIVE, body)
}

/// Returns whether this kernel has clsact, or can load it. The request is one that cannot succeed
/// (a shared block cannot have number 0). The kernel detects that after it has looked for clsact
/// and before it creates anything (`qdisc_create`, `qdisc_block_indexes_set` in
/// `net/sched/sch_api.c`).
pub(super) fn knows_clsact(netlink: &mut NetlinkSocket) -> Result<bool, Error> {
    let mut body = tcmsg(LOOPBACK, CLSACT_HANDLE, CLSACT, 0);
    attribute(&mut body, TCA_KIND, &string("clsact"));
    attribute(&mut body, TCA_INGRESS_BLOCK, &0_u32.to_ne_bytes());
    let refused = netlink.change(RTM_NEWQDISC, CREATE | EXCLUSIVE, body)?;
    Ok(refused.is_none_or(|refusal| refusal.errno != Errno::NOENT))
}

/// Removes clsact, with all of its filters.
pub(super) fn remove_clsact(
    netlink: &mut NetlinkSocket,
    interface: u32,
) -> Result<Option<KernelRefusal>, Error> {
    netlink.change(RTM_DELQDISC, 0, tcmsg(interface, CLSACT_HANDLE, CLSACT, 0))
}

/// Returns the filters at [`INGRESS`] or [`EGRESS`]; none if there is no clsact.
pub(super) fn filters(
    netlink: &mut NetlinkSocket,
    interface: u32,
    parent: u32,
) -> Result<Vec<TcFilter>, Error> {
    let listed = netlink.list(RTM_GETTFILTER, tcmsg(interface, 0, parent, 0))?;
    let mut found = Vec::new();
    for (kind, body) in listed.unwrap_or_default() {
        if kind == RTM_NEWTFILTER
            && word(&body, 4) == interface
            && let Some(rest) = body.get(TCMSG..)
        {
            found.push(filter(&body, rest));
        }
    }
    // Each priority also has an entry of its own, without a handle.
    found.retain(|filter| filter.handle != 0);
    Ok(found)
}

fn word(body: &[u8], at: usize) -> u32 {
    body.get(at..).and_then(number).unwrap_or(0)
}

fn filter(body: &[u8], rest: &[u8]) -> TcFilter {
    let mut filter = TcFilter {
        priority: (word(body, 16) >> 16) as u16,
        handle: word(body, 8),
        ..TcFilter::default()
    };
    for (kind, value) in attributes(rest).map_while(Result::ok) {
        match kind {
            TCA_KIND => filter.kind = text(value),
            TCA_OPTIONS => {
                filter.name = inner(value, TCA_BPF_NAME).map(text).unwrap_or_default();
                let program = inner(value, TCA_BPF_ID);
                filter.program = program.and_then(number).unwrap_or(0);
            }
            _ => {}
        }
    }
    // Options of other kinds of filter use these numbers with another meaning.
    if filter.kind != "bpf" {
        (filter.name, filter.program) = (String::new(), 0);
    }
    filter
}

fn ours(interface: u32) -> Vec<u8> {
    let info = u32::from(PRIORITY) << 16 | u32::from(ETH_P_ALL.to_be());
    tcmsg(interface, HANDLE, INGRESS, info)
}

/// Adds cangate's filter or, if it exists, replaces its program between two frames.
pub(super) fn put_filter(
    netlink: &mut NetlinkSocket,
    interface: u32,
    program: BorrowedFd<'_>,
    fresh: bool,
) -> Result<Option<KernelRefusal>, Error> {
    let mut body = ours(interface);
    attribute(&mut body, TCA_KIND, &string("bpf"));
    let mut options = Vec::new();
    attribute(&mut options, TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes());
    attribute(&mut options, TCA_BPF_NAME, &string(NAME));
    attribute(
        &mut options,
        TCA_BPF_FLAGS,
        &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes(),
    );
    nested(&mut body, TCA_OPTIONS, &options);
    let exclusive = if fresh { CREATE | EXCLUSIVE } else { 0 };
    netlink.change(RTM_NEWTFILTER, exclusive, body)
}

/// Removes cangate's filter.
pub(super) fn remove_filter(
    netlink: &mut NetlinkSocket,
    interface: u32,
) -> Result<Option<KernelRefusal>, Error> {
    netlink.change(RTM_DELTFILTER, 0, ours(interface))
}

/// Attaches an XDP program in the kernel's generic mode where there is none, or removes it.
pub(super) fn set_xdp(
    netlink: &mut NetlinkSocket,
    interface: u32,
    program: Option<BorrowedFd<'_>>,
) -> Result<Option<KernelRefusal>, Error> {
    let mut body = vec![0; 4];
    body.extend(interface.to_ne_bytes());
    body.resize(IFINFO, 0);
    let (fd, flags) = match program {
        Some(fd) => (fd.as_raw_fd(), XDP_FLAGS_UPDATE_IF_NOEXIST),
        None => (-1, 0),
    };
    let mut options = Vec::new();
    attribute(&mut options, IFLA_XDP_FD, &fd.to_ne_bytes());
    let flags = flags | XDP_FLAGS_SKB_MODE;
    attribute(&mut options, IFLA_XDP_FLAGS, &flags.to_ne_bytes());
    nested(&mut body, IFLA_XDP, &options);
    netlink.change(RTM_SETLINK, 0, body)
}
