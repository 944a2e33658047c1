//! Ports of a running gateway.

use super::FrameFilter;
use super::source::{SeenFrame, WatchLosses, WatchNews, WatchSource};
use console::Failure;
use frame::FrameBuf;
use frame::text::parse_frame;
use gateway::control::{CallError, ControlConnection, ControlRequest, WatchRequest, WatchedPorts};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The frames of ports of a running gateway.
pub(crate) struct GatewaySource {
    connection: ControlConnection,
    names: BTreeMap<String, Arc<str>>,
    frame: Box<FrameBuf>,
}

impl GatewaySource {
    /// Asks the gateway to show the frames of these ports; of all of them without any. Returns the
    /// ports, too.
    ///
    /// # Errors
    /// The gateway refuses it.
    pub(crate) fn new(
        mut connection: ControlConnection,
        ports: Vec<String>,
    ) -> Result<(Self, Vec<String>), Failure> {
        let request = ControlRequest::Watch(WatchRequest { ports });
        let answer = connection.ask(&request).map_err(|error| match error {
            CallError::Refused(text) => Failure::Input(text),
            other => Failure::run(other),
        })?;
        let watched: WatchedPorts = crate::commands::understand(answer)?;
        let source = Self {
            connection,
            names: BTreeMap::new(),
            frame: Box::default(),
        };
        Ok((source, watched.ports))
    }
}

impl WatchSource for GatewaySource {
    fn next(&mut self, filter: &FrameFilter) -> WatchNews {
        let watched = match self.connection.watched() {
            Ok(Some(watched)) => watched,
            Ok(None) => return WatchNews::Ended("the gateway has ended".to_owned()),
            Err(error) => return WatchNews::Failed(Failure::run(error)),
        };
        let missing = watched.missing();
        let mut frames = Vec::with_capacity(watched.frames.len());
        for (at, port, is_sent, text) in watched.frames {
            if let Err(error) = parse_frame(text.as_bytes(), &mut self.frame) {
                return WatchNews::Failed(Failure::Run(format!(
                    "the gateway sent `{text}`, which is not a frame ({error}): is it another version of cangate?"
                )));
            }
            let view = self.frame.view();
            if filter.passes(view) {
                let name = self.names.entry(port);
                let name = name.or_insert_with_key(|port| Arc::from(port.as_str()));
                frames.push(SeenFrame::new(at, name, is_sent, view));
            }
        }
        let losses = WatchLosses {
            lost: missing,
            error_frames: 0,
        };
        WatchNews::Frames(frames, losses)
    }
}
