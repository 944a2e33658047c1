//! Frames through the kernel and through the model.

use crate::frames::Owned;
use crate::kernel::Kernel;
use crate::model::{Counters, Model, agree};
use std::time::Duration;

/// Time to listen for frames that must not come.
const SILENCE: Duration = Duration::from_millis(5);

/// Sends frames, and returns how many came out, or the difference from the model. The kernel may
/// have its own order for the copies of one frame, unless they are `ordered`.
pub(crate) fn pass(
    kernel: &mut Kernel,
    model: &mut Model<'_>,
    sent: &[Owned],
    ordered: bool,
) -> Result<usize, String> {
    let mut copies = 0;
    for frame in sent {
        let mut expected = model.expect(frame);
        kernel.send(frame);
        let count = expected.iter().map(Vec::len).sum();
        let mut got = kernel.receive(count, Duration::ZERO);
        if !ordered {
            expected.iter_mut().for_each(|frames| frames.sort());
            got.iter_mut().for_each(|frames| frames.sort());
        }
        if !expected.iter().zip(&got).all(|(e, g)| agree(e, g)) {
            return Err(format!(
                "{frame:?}:\n the table says {expected:#?}\n the kernel {got:#?}"
            ));
        }
        copies += got.iter().map(Vec::len).sum::<usize>();
    }
    let more = kernel.receive(0, SILENCE);
    if more.iter().any(|more| !more.is_empty()) {
        return Err(format!("the kernel sent more: {more:#?}"));
    }
    Ok(copies)
}

/// Returns the counters in a listing of `cangw -L`.
pub(crate) fn listed_counters(listing: &str) -> Vec<Counters> {
    let line = |line: &str| {
        let (_, comment) = line.split_once('#').unwrap();
        let numbers = comment.split_whitespace().filter_map(|w| w.parse().ok());
        numbers.collect::<Vec<_>>().try_into().unwrap()
    };
    listing.lines().map(line).collect()
}
