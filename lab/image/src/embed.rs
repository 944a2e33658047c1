//! Embedding of a gateway in an image's file.

use baremetal::{ImagePlan, PlanError, PlanSlot};

/// The reason why a gateway cannot be embedded in an image.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The plan is too long.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The file is not an image, or one of another version.
    #[error("this file is not an image of cangate: it has no place for a gateway")]
    NoSlot,
}

/// Writes a plan into the bytes of a template; replaces a plan that is there already.
///
/// # Errors
/// [`EmbedError`].
pub fn embed(image: &mut [u8], plan: &ImagePlan) -> Result<(), EmbedError> {
    if PlanSlot::write(image, plan)? {
        Ok(())
    } else {
        Err(EmbedError::NoSlot)
    }
}
