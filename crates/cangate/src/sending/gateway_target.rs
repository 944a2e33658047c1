//! A port of a running gateway.

use super::target::{FrameTarget, OfferAnswer, TargetTotals};
use console::Failure;
use frame::{FrameRef, Nanos};
use gateway::control::{ControlConnection, ControlRequest, SendRequest, SentAnswer, SentAnswers};
use linux::PollSet;
use std::time::{Duration, Instant};

/// A port of a running gateway, by its control socket. A frame that the port takes counts as sent:
/// the gateway's counters have its further fate.
pub(crate) struct GatewayTarget {
    connection: ControlConnection,
    port: String,
    sent: u64,
    /// The time of the last request.
    asked: Instant,
}

/// Time after which a connection without a request is renewed: well before the gateway ends it
/// (`CLIENT_TIMEOUT` in the gateway's control server, 5 s).
const IDLE: Duration = Duration::from_secs(2);

/// Time after which a frame that found no room is offered again, ns: each offer wakes up the
/// gateway's control thread, and interrupts its worker between two batches.
const AGAIN: Nanos = 5_000_000;

impl GatewayTarget {
    /// Takes a connection, and checks that the port takes frames of clients.
    ///
    /// # Errors
    /// The gateway refuses it.
    pub(crate) fn new(connection: ControlConnection, port: &str) -> Result<Self, Failure> {
        let mut target = Self {
            connection,
            port: port.to_owned(),
            sent: 0,
            asked: Instant::now(),
        };
        target.ask(Vec::new())?;
        Ok(target)
    }

    fn ask(&mut self, frames: Vec<String>) -> Result<SentAnswers, Failure> {
        let request = SendRequest {
            port: self.port.clone(),
            frames,
        };
        // Before the request: one that was sent twice could send its frames twice.
        if self.asked.elapsed() > IDLE {
            self.connection.reopen().map_err(Failure::run)?;
        }
        self.asked = Instant::now();
        let answer = self.connection.ask(&ControlRequest::Send(request));
        let answer = answer.map_err(|error| match error {
            gateway::control::CallError::Refused(text) => Failure::Input(text),
            other => Failure::run(other),
        })?;
        crate::commands::understand(answer)
    }
}

impl FrameTarget for GatewayTarget {
    fn offer(&mut self, _: Nanos, frame: FrameRef<'_>) -> Result<OfferAnswer, Failure> {
        let reply = self.ask(vec![frame.to_string()])?;
        let answer = match reply.answers.as_slice() {
            [SentAnswer::Taken] => OfferAnswer::Taken,
            [SentAnswer::Full] => OfferAnswer::Full,
            [SentAnswer::Down] => OfferAnswer::Down,
            [SentAnswer::Unsupported] => OfferAnswer::Unsupported,
            other => {
                return Err(Failure::Run(format!(
                    "the gateway answered one frame by {} answers: is it another version of cangate?",
                    other.len()
                )));
            }
        };
        self.sent += u64::from(answer == OfferAnswer::Taken);
        Ok(answer)
    }

    fn serve(&mut self, _: Nanos) -> Result<Option<Nanos>, Failure> {
        Ok(None)
    }

    fn wait(&self, _: &mut PollSet) {}

    fn again(&self) -> Nanos {
        AGAIN
    }

    fn totals(&self) -> TargetTotals {
        TargetTotals {
            sent: self.sent,
            ..TargetTotals::default()
        }
    }
}
