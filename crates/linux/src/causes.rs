//! Errors as one line of text, for places that only take text.

/// Returns an error and its causes in one line; a cause whose text the line already contains is not
/// repeated.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct OuterError(&'static str, #[source] std::fmt::Error);

    #[test]
    fn causes_are_added_once() {
        let cause = std::fmt::Error.to_string();
        let text = with_causes(&OuterError("it failed", std::fmt::Error));
        assert_eq!(text, format!("it failed: {cause}"));
        let reported: &'static str = Box::leak(format!("it failed ({cause})").into_boxed_str());
        assert_eq!(
            with_causes(&OuterError(reported, std::fmt::Error)),
            reported
        );
    }
}
