//! The names of the messages of a run.

use frame::CanId;
use gateway::config::GatewayConfig;
use probe::FrameRecord;
use report::run::IdNames;
use route::PortId;
use std::collections::BTreeSet;

/// Returns the names of the messages in these records, by the databases of the gateway file.
pub(crate) fn message_names(config: &GatewayConfig, records: &[FrameRecord]) -> IdNames {
    let came = records.iter().filter_map(|record| record.incoming);
    let came = came.map(|frame| (frame.port, frame.id));
    let went = records.iter().filter_map(|record| record.outgoing);
    let seen: BTreeSet<(u16, CanId)> = went.map(|copy| (copy.port, copy.id)).chain(came).collect();
    let ports = (0_u16..).zip(&config.ports);
    let ports: Vec<_> = ports
        .map(|(port, _)| config.message_names(PortId(port)))
        .collect();
    let name = |(port, id): (u16, CanId)| {
        let name = ports.get(usize::from(port))?.find(id)?;
        Some(((port, id.to_string()), name.to_owned()))
    };
    seen.into_iter().filter_map(name).collect()
}
