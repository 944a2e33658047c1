//! Reports of progress from operations that take long.

/// A receiver of reports on the progress of long operations. The thread that does the work calls
/// it.
pub trait ProgressReport: Send + Sync {
    /// Reports that a new stage of setting up begins; the previous one is done. The text includes
    /// the amount of work, if that is known.
    fn stage(&self, what: &str);
    /// Reports that everything is set up, and the guest's job begins.
    fn job(&self, what: &str) {
        self.stage(what);
    }
    /// Reports the part of the stage that is done, 0 to 1; not every stage knows it.
    fn part(&self, fraction: f64);
    /// Reports that something works, but not as well as usual, on standard error.
    fn warning(&self, what: &str) {
        eprintln!("warning: {what}");
    }
}

/// A receiver that ignores all reports but warnings.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl ProgressReport for SilentProgress {
    fn stage(&self, _what: &str) {}
    fn part(&self, _fraction: f64) {}
}

/// A receiver of the output of a guest's job, while the job runs.
pub trait OutputSink {
    /// Takes bytes of the job's standard output.
    fn stdout(&mut self, bytes: &[u8]);
    /// Takes bytes of the job's standard error, and the agent's messages.
    fn stderr(&mut self, bytes: &[u8]);
}

/// A receiver that discards the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscardOutput;

impl OutputSink for DiscardOutput {
    fn stdout(&mut self, _bytes: &[u8]) {}
    fn stderr(&mut self, _bytes: &[u8]) {}
}
