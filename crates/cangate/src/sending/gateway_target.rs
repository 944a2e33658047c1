//! A port of a running gateway.

use super::target::{FrameTarget, OfferAnswer, TargetTotals};
use console::Failure;
use frame::{FrameRef, Nanos};
use gateway::control::{
    ControlConnection, ControlRequest, MAX_REQUEST, MAX_SENT, SendRequest, SentAnswer, SentAnswers,
};
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

/// Bytes of a request without its frames: more than the names of the keys and of the port.
const ENVELOPE: usize = 1024;

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

/// Returns the texts of as many frames as fit into a request, of one at least.
fn texts(frames: &[FrameRef<'_>]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::with_capacity(frames.len());
    let mut left = MAX_REQUEST - ENVELOPE;
    for frame in frames {
        let text = frame.to_string();
        // With its quotes and its comma.
        let size = text.len() + 3;
        if size > left && !texts.is_empty() {
            break;
        }
        left = left.saturating_sub(size);
        texts.push(text);
    }
    texts
}

impl FrameTarget for GatewayTarget {
    fn offer(
        &mut self,
        _: Nanos,
        frames: &[FrameRef<'_>],
        answers: &mut Vec<OfferAnswer>,
    ) -> Result<(), Failure> {
        let texts = texts(frames);
        let asked = texts.len();
        let reply = self.ask(texts)?;
        if reply.answers.len() != asked {
            return Err(Failure::Run(format!(
                "the gateway answered {asked} frames by {} answers: is it another version of cangate?",
                reply.answers.len()
            )));
        }
        for answer in reply.answers {
            let answer = match answer {
                SentAnswer::Taken => OfferAnswer::Taken,
                SentAnswer::Full => OfferAnswer::Full,
                SentAnswer::Down => OfferAnswer::Down,
                SentAnswer::Unsupported => OfferAnswer::Unsupported,
            };
            self.sent += u64::from(answer == OfferAnswer::Taken);
            answers.push(answer);
            // Those behind it were not offered to the port.
            if answer.is_waiting() {
                break;
            }
        }
        Ok(())
    }

    fn most(&self) -> usize {
        MAX_SENT
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

#[cfg(test)]
mod tests {
    use super::*;
    use frame::FrameBuf;
    use frame::text::parse_frame;

    #[test]
    fn a_request_has_as_many_frames_as_fit() {
        let read = |text: &str| {
            let mut frame = FrameBuf::new();
            parse_frame(text.as_bytes(), &mut frame).unwrap();
            frame
        };
        let longest = read(&format!("7FF#80:FF:FFFFFFFF#{}", "AB".repeat(2048)));
        let short = read("123#11");
        let views = |frame: &FrameBuf| texts(&vec![frame.view(); MAX_SENT]).len();
        assert_eq!(views(&short), MAX_SENT);
        let fitting = views(&longest);
        assert!((1..MAX_SENT).contains(&fitting), "{fitting}");
        let request = ControlRequest::Send(SendRequest {
            port: "p".repeat(32),
            frames: vec![longest.view().to_string(); fitting],
        });
        assert!(request.line().len() <= MAX_REQUEST);
        assert!(texts(&[]).is_empty());
    }
}
