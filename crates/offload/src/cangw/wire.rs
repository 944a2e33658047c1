//! Jobs of can-gw in the format of the netlink socket (`uapi/linux/can/gw.h`, rtnetlink of
//! `PF_CAN`).

pub use linux::netlink::MalformedMessage;
use linux::netlink::{NetlinkMessage, NetlinkRequest, attribute, attributes};
use route::Action;
use route::cangw::RuleAttribute;

/// `AF_CAN`, the family of `struct rtcanmsg`.
const AF_CAN: u8 = 29;
/// `CGW_TYPE_CAN_CAN`, the only kind of job.
const CAN_TO_CAN: u8 = 1;

pub(super) const RTM_NEWROUTE: u16 = 24;
pub(super) const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;

/// Bytes of `struct rtcanmsg`.
const RTCANMSG: usize = 4;

/// Local listeners on the destination see the frames (`CGW_FLAGS_CAN_ECHO`).
pub const ECHO: u16 = 1;
/// Frames keep their time stamp (`CGW_FLAGS_CAN_SRC_TSTAMP`).
pub const STAMP: u16 = 2;
/// Frames may go back to the interface where they came in (`CGW_FLAGS_CAN_IIF_TX_OK`).
pub const SAME_PORT: u16 = 4;
/// FD frames instead of classic ones (`CGW_FLAGS_CAN_FD`).
pub const FD: u16 = 8;

// Attributes, `CGW_*`, except those that specify changes ([`Action::attributes`]).
const HANDLED: u16 = 7;
const DROPPED: u16 = 8;
const SRC_IF: u16 = 9;
const DST_IF: u16 = 10;
const FILTER: u16 = 11;
const DELETED: u16 = 12;
const LIM_HOPS: u16 = 13;
const MOD_UID: u16 = 14;
/// A rule in the kernel's form: interfaces are indices, operands are raw.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GatewayJob {
    /// Index of the interface where frames come in.
    pub source: u32,
    /// Index of the interface where they go out.
    pub destination: u32,
    /// [`ECHO`], [`STAMP`], [`SAME_PORT`], [`FD`].
    pub flags: u16,
    /// `limit_hops`; 0 for none.
    pub hops: u8,
    /// ID and mask of the filter; both 0 for none.
    pub filter: (u32, u32),
    /// The changes, in the order of [`Action::attributes`], at most one of each kind; see
    /// [`GatewayJob::put`].
    pub changes: Vec<RuleAttribute>,
    /// Its mark; 0 for none. The kernel keeps it only in a job that modifies something.
    pub uid: u32,
}

/// The kernel's counters of a job; 32 bits that wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JobCounters {
    /// Frames that were handed to the destination.
    pub handled: u32,
    /// Frames that the destination did not accept: it was down, or its queue was full.
    pub dropped: u32,
    /// Frames with too many hops, or a length that does not fit.
    pub deleted: u32,
}

/// A job in the kernel's list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListedJob {
    /// The job.
    pub job: GatewayJob,
    /// Its counters.
    pub counters: JobCounters,
}

/// Returns a request for the list of all jobs.
#[must_use]
pub fn list_request() -> NetlinkRequest {
    NetlinkRequest::list(RTM_GETROUTE, vec![AF_CAN, 0, 0, 0])
}

/// Returns a request for a new job or, if its mark is known, for a job's new modifications.
#[must_use]
pub fn add_request(job: &GatewayJob) -> NetlinkRequest {
    NetlinkRequest::change(RTM_NEWROUTE, 0, body(job))
}

/// Returns a request to remove a job.
#[must_use]
pub fn delete_request(job: &GatewayJob) -> NetlinkRequest {
    NetlinkRequest::change(RTM_DELROUTE, 0, body(job))
}

/// Returns a request that changes nothing: to remove a job without interfaces. can-gw checks the
/// hops first and answers EINVAL if they exceed its `max_hops`, then it checks the modifications,
/// and then it answers ENODEV (`cgw_parse_attr`). Without can-gw the answer is EOPNOTSUPP, without
/// permission EPERM.
#[must_use]
pub fn probe_request(job: &GatewayJob) -> NetlinkRequest {
    let (source, destination) = (0, 0);
    let job = GatewayJob {
        source,
        destination,
        ..job.clone()
    };
    delete_request(&job)
}

fn body(job: &GatewayJob) -> Vec<u8> {
    let mut out = vec![AF_CAN, CAN_TO_CAN];
    out.extend(job.flags.to_ne_bytes());
    if job.hops != 0 {
        attribute(&mut out, LIM_HOPS, &[job.hops]);
    }
    for change in &job.changes {
        attribute(&mut out, change.kind, &change.value);
    }
    if job.uid != 0 {
        attribute(&mut out, MOD_UID, &job.uid.to_ne_bytes());
    }
    let (id, mask) = job.filter;
    if job.filter != (0, 0) {
        let filter = [id.to_ne_bytes(), mask.to_ne_bytes()].concat();
        attribute(&mut out, FILTER, &filter);
    }
    // Two zeros would request the removal of all jobs; without interfaces the kernel refuses.
    for (kind, index) in [(SRC_IF, job.source), (DST_IF, job.destination)] {
        if index != 0 {
            attribute(&mut out, kind, &index.to_ne_bytes());
        }
    }
    out
}

/// Returns the job in a message; `None` if it is something else: without can-gw, rtnetlink lists
/// routes of other families, too.
///
/// # Errors
/// If a job's attributes have sizes that can-gw never sends.
pub fn listed(message: &NetlinkMessage<'_>) -> Result<Option<ListedJob>, MalformedMessage> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let Some((&[family, kind, low, high], rest)) = message.body.split_first_chunk::<RTCANMSG>()
    else {
        return Err(MalformedMessage::Message);
    };
    if family != AF_CAN || kind != CAN_TO_CAN {
        return Ok(None);
    }
    let mut listed = ListedJob::default();
    let ListedJob { job, counters } = &mut listed;
    job.flags = u16::from_ne_bytes([low, high]);
    for attribute in attributes(rest) {
        let (kind, value) = attribute?;
        let fits = match kind {
            HANDLED => number(value).map(|n| counters.handled = n),
            DROPPED => number(value).map(|n| counters.dropped = n),
            DELETED => number(value).map(|n| counters.deleted = n),
            SRC_IF => number(value).map(|n| job.source = n),
            DST_IF => number(value).map(|n| job.destination = n),
            MOD_UID => number(value).map(|n| job.uid = n),
            LIM_HOPS => value.first().map(|n| job.hops = *n),
            FILTER => filter(value).map(|f| job.filter = f),
            kind => change(kind, value, job),
        };
        fits.ok_or(MalformedMessage::Size(kind, value.len()))?;
    }
    Ok(Some(listed))
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(value.try_into().ok()?))
}

fn filter(value: &[u8]) -> Option<(u32, u32)> {
    let (id, mask) = value.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*id), number(mask)?))
}

/// Adds a change to the job. Attributes of later kernels are ignored.
fn change(kind: u16, value: &[u8], job: &mut GatewayJob) -> Option<()> {
    if Action::attributes().all(|known| known != kind) {
        return Some(());
    }
    let value = value.to_vec();
    job.put(Action::normal(&RuleAttribute { kind, value })?);
    Some(())
}
