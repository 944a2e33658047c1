//! Recording of interfaces and character devices into files.

mod devices;
mod filling;
mod reader;
mod ring;
mod sent;
mod settings;
mod waiting;
mod watch;
mod writer;

pub use settings::{CaptureControl, CaptureProgress, CaptureSettings, CaptureSummary, LiveError};

use crate::keeper::FrameKeeper;
use crate::names::InterfaceNames;
use crate::queue::queue;
use crate::recorder::FileRecorder;
use reader::FrameReader;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use writer::{ChunkSink, ChunkWriter};

/// Interval of the progress reports of [`record`].
const EACH: Duration = Duration::from_secs(1);

/// Records until `control` or the settings end the recording. `each_second` is called once a
/// second, and at the end.
///
/// # Errors
/// [`LiveError`] before the first frame; later errors are counted and reported.
pub fn record(
    settings: &CaptureSettings,
    control: &CaptureControl,
    each_second: &mut dyn FnMut(&CaptureProgress<'_>),
) -> Result<CaptureSummary, LiveError> {
    let names = InterfaceNames::default();
    let start = Instant::now();
    let mut reader = FrameReader::open(settings, names.clone(), start)?;
    let numbered = settings.keep.is_some();
    let recorder = FileRecorder::new(&settings.output, settings.rotate, &names, 0, numbered)?;
    let sink = match &settings.keep {
        Some(keep) => ChunkSink::Triggered(Box::new(FrameKeeper::new(keep.clone(), recorder))),
        None => ChunkSink::Always(Box::new(recorder)),
    };
    let (sender, inbox) = queue(settings.queue);
    let shared = Arc::default();
    let writer = ChunkWriter::new(sink, inbox, Arc::clone(&shared), start);
    let writer = thread::Builder::new()
        .name("writer".to_owned())
        .spawn(move || writer.run())
        .map_err(LiveError::Thread)?;

    reader.start(sender)?;
    let mut next = EACH;
    let ended = loop {
        if control.stop() || reader.is_done() {
            break true;
        }
        if shared.ended().is_some() {
            break false;
        }
        let now = start.elapsed();
        if now >= next {
            next = now + EACH;
            reader.each_second();
            shared.add_to(reader.counts());
            let remarks = [reader.take_remarks(), shared.take_remarks()].concat();
            each_second(&CaptureProgress {
                elapsed: now,
                counts: reader.counts(),
                written: shared.done(),
                remarks,
                names: &names,
            });
        }
        if control.take_trigger() {
            reader.signal();
        }
        reader.step(next.saturating_sub(start.elapsed()));
    };
    reader.end(ended);
    // The writer ends when the sender of its queue is dropped.
    let (counts, remarks) = reader.close();
    let fine = writer.join().is_ok();
    let mut counts = counts;
    shared.add_to(&mut counts);
    let written = shared.done();
    each_second(&CaptureProgress {
        elapsed: start.elapsed(),
        counts: &counts,
        written: written.clone(),
        remarks: [remarks, shared.take_remarks()].concat(),
        names: &names,
    });
    if !fine {
        return Err(LiveError::Writer);
    }
    Ok(CaptureSummary {
        elapsed: start.elapsed(),
        counts,
        written,
        names: names.all(),
    })
}
