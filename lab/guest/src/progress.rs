//! What takes long says how far it is.

/// Told how far something is that takes long. Called from whatever thread does it.
pub trait Progress: Send + Sync {
    /// A new stage of setting up begins; the one before is done. The words say how much it is, if
    /// that is known.
    fn stage(&self, what: &str);
    /// Everything is set up, and the guest's job begins.
    fn job(&self, what: &str) {
        self.stage(what);
    }
    /// How much of the stage is done, 0 to 1; not every stage knows.
    fn part(&self, fraction: f64);
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _what: &str) {}
    fn part(&self, _fraction: f64) {}
}

/// Takes what a guest's job prints, while it prints it.
pub trait Sink {
    /// Bytes of its standard output.
    fn stdout(&mut self, bytes: &[u8]);
    /// Bytes of its standard error, and what the agent has to say.
    fn stderr(&mut self, bytes: &[u8]);
}

/// Throws it away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Sink for Discard {
    fn stdout(&mut self, _bytes: &[u8]) {}
    fn stderr(&mut self, _bytes: &[u8]) {}
}
