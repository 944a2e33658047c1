//! The version of the running kernel, for facts that cannot be found out in another way.

/// Returns whether the running kernel is of this series or a later one; false where its release is
/// not a version. Distributions may have backported a change to an older series, so use this only
/// where no other test exists.
#[must_use]
pub fn is_at_least(series: (u32, u32)) -> bool {
    let uname = rustix::system::uname();
    parse(&uname.release().to_string_lossy()).is_some_and(|running| running >= series)
}

/// Parses a release: `6.1.0-50-amd64` → 6.1
fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_are_read() {
        assert_eq!(parse("6.1.0-50-amd64"), Some((6, 1)));
        assert_eq!(parse("7.3+deb14-rt-amd64"), Some((7, 3)));
        assert_eq!(parse("5.10"), Some((5, 10)));
        assert_eq!(parse("unknown"), None);
        assert!(is_at_least((2, 6)) && !is_at_least((u32::MAX, 0)));
    }
}
