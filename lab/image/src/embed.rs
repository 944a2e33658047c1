//! A gateway into an image's file.

use baremetal::{Plan, PlanError, Slot};

/// Why an image does not take a gateway.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// It is too long.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It is no image, or one of another version.
    #[error("this file is no image of cangate's: it has no place for a gateway")]
    NoSlot,
}

/// Writes a plan into the bytes of a template; one that is there already is replaced.
///
/// # Errors
/// [`EmbedError`].
pub fn embed(image: &mut [u8], plan: &Plan) -> Result<(), EmbedError> {
    if Slot::write(image, plan)? {
        Ok(())
    } else {
        Err(EmbedError::NoSlot)
    }
}
