//! The kind of port, before and after its databases are known.

use super::bind::{ComposedSettings, bind};
use super::halves;
use super::rules::MessageComposer;
use super::settings::keys;
use super::spec::UnboundSettings;
use crate::kind::{DatabasesByName, FramePassage, PortSettings, port_kind};
use crate::{Halves, PortError, PortOpener, SimulatedPlace, StandIn};
use config::Diagnostics;
use frame::{CanId, Kind, Nanos};
use std::sync::Arc;

port_kind! {
    /// The kind of ports that make messages.
    ComposedPorts = "messages", keys(), |_, table, found| UnboundSettings::parse(table, found);
}

impl PortSettings for UnboundSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        "messages made from signals".to_owned()
    }

    fn bind(
        &self,
        databases: &DatabasesByName<'_>,
        found: &mut Diagnostics,
    ) -> Option<Arc<dyn PortSettings>> {
        let bound = bind(self, databases, found)?;
        Some(Arc::new(bound))
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, true)
    }

    fn open(&self, port: &str, _opener: &mut PortOpener) -> Result<Halves, PortError> {
        Err(PortError {
            port: port.to_owned(),
            what: "its messages are not known: the databases were not read".to_owned(),
            source: None,
        })
    }
}

impl PortSettings for ComposedSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let made = self.messages.iter().map(|message| {
            let timing = message.timing;
            let mut when = Vec::new();
            when.extend(
                timing
                    .cycle
                    .map(|cycle| format!("every {} ms", milliseconds(cycle))),
            );
            when.extend(timing.on_change.then(|| "on change".to_owned()));
            when.extend(timing.answers_remote.then(|| "on request".to_owned()));
            let id = message.header.id();
            format!("\n  makes {} ({id}) {}", message.name, when.join(" and "))
        });
        let read: Vec<&str> = self
            .inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect();
        let read = match read.as_slice() {
            [] => String::new(),
            names => format!(" from {}", names.join(", ")),
        };
        format!("messages of this gateway{read}{}", made.collect::<String>())
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        let mut made = self.messages.iter();
        match kind {
            Kind::Xl => FramePassage::No,
            Kind::Fd if !made.any(|message| message.header.kind() == Kind::Fd) => {
                FramePassage::Open
            }
            Kind::Classic | Kind::Fd => FramePassage::Yes,
        }
    }

    fn stand_in(&self, _: SimulatedPlace<'_>) -> StandIn {
        StandIn::Itself
    }

    fn made_ids(&self) -> Option<Vec<CanId>> {
        let messages = self.messages.iter();
        Some(messages.map(|message| message.header.id()).collect())
    }

    fn open(&self, port: &str, _opener: &mut PortOpener) -> Result<Halves, PortError> {
        let (inputs, messages) = (self.inputs.clone(), self.messages.clone());
        // The composer starts with the first call, which has the time. What it would refuse then is
        // refused here.
        match MessageComposer::new(inputs.clone(), messages.clone(), 0) {
            Ok(_) => Ok(halves::halves(inputs, messages)),
            Err(error) => Err(PortError {
                port: port.to_owned(),
                what: error.to_string(),
                source: None,
            }),
        }
    }
}

/// Returns a time in milliseconds, with as many places as needed.
fn milliseconds(time: Nanos) -> f64 {
    time as f64 / 1e6
}
