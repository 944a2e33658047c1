//! Where frames come from.

use super::FrameFilter;
use console::Failure;
use frame::{FrameRef, Header, Nanos};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The most batches that wait for the display. A source that is further ahead waits: then the
/// kernel, or the gateway, loses frames and counts them.
const AHEAD: usize = 64;

/// A frame that was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SeenFrame {
    /// Its time, ns since the Unix epoch.
    pub(crate) at: Nanos,
    /// The name of its port.
    pub(crate) port: Arc<str>,
    /// Whether the port of a gateway sent it; otherwise it was received.
    pub(crate) is_sent: bool,
    /// All but its payload.
    pub(crate) header: Header,
    /// Its payload.
    pub(crate) data: Vec<u8>,
}

impl SeenFrame {
    /// Copies a frame.
    pub(crate) fn new(at: Nanos, port: &Arc<str>, is_sent: bool, frame: FrameRef<'_>) -> Self {
        Self {
            at,
            port: Arc::clone(port),
            is_sent,
            header: *frame.header(),
            data: frame.data().to_vec(),
        }
    }

    /// Returns the frame. `None` cannot happen: the header and the payload are of one frame.
    pub(crate) fn view(&self) -> Option<FrameRef<'_>> {
        FrameRef::new(self.header, &self.data).ok()
    }
}

/// The frames that are not shown, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WatchLosses {
    /// Frames that were lost: this program or the machine was too slow, or they did not come whole.
    pub(crate) lost: u64,
    /// Error frames of controllers.
    pub(crate) error_frames: u64,
}

/// A message of a source.
#[derive(Debug)]
pub(crate) enum WatchNews {
    /// Frames, in the order in which they came, and the losses so far.
    Frames(Vec<SeenFrame>, WatchLosses),
    /// There will be no more frames; the text says why.
    Ended(String),
    /// The source cannot go on.
    Failed(Failure),
}

/// A source of frames.
pub(crate) trait WatchSource: Send + 'static {
    /// Waits for frames. Only frames that pass the filter are wanted.
    fn next(&mut self, filter: &FrameFilter) -> WatchNews;
}

/// Starts a thread that passes on what the source brings. It ends with the process, or when the
/// receiver is dropped.
pub(crate) fn start(mut source: impl WatchSource, filter: FrameFilter) -> Receiver<WatchNews> {
    let (tell, news): (SyncSender<WatchNews>, _) = sync_channel(AHEAD);
    std::thread::spawn(move || {
        loop {
            let next = source.next(&filter);
            let is_last = !matches!(next, WatchNews::Frames(..));
            if tell.send(next).is_err() || is_last {
                return;
            }
        }
    });
    news
}
