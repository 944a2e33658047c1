//! What the table can use, said in the words of ports. `route` and `port` do not know each other,
//! so each has its own words for it.

use port::Interest;
use route::{PortId, Table};

/// What each of the first `ports` ports must receive so that every route can work.
pub(crate) fn all(table: &Table, ports: usize) -> Vec<Interest> {
    (0..ports).map(|port| of(table, port)).collect()
}

/// What the port with this index must receive so that every route can work: for
/// [`port::Receive::set_interest`] when a port is opened. [`crate::Engine::apply`] says it again
/// after a reload.
#[must_use]
pub fn of(table: &Table, port: usize) -> Interest {
    let Ok(port) = u16::try_from(port) else {
        return Interest::default();
    };
    let wanted = table.interest(PortId(port));
    let filter = |f: route::RawFilter| port::RawFilter {
        id: f.id,
        mask: f.mask,
    };
    Interest {
        ids: match wanted.ids {
            route::Ids::Nothing => port::Ids::Nothing,
            route::Ids::Everything => port::Ids::Everything,
            route::Ids::Filters(list) => port::Ids::Filters(list.into_iter().map(filter).collect()),
        },
        fd: wanted.fd,
        xl: wanted.xl,
        error_frames: wanted.error_frames,
    }
}
