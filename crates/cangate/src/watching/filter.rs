//! The frames that are wanted, by ID.

use frame::{CanId, FrameRef};
use route::parts::{KeyClass, blocks, id_filters};

/// Filters in the syntax of routes, of which a frame must pass any one; without any, all pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameFilter {
    is_given: bool,
    /// `(raw & mask) == value` for IDs of this format.
    blocks: Vec<(bool, u32, u32)>,
}

impl FrameFilter {
    /// Parses filters: `123`, `200-2FF`, `100:700`, `!123`.
    ///
    /// # Errors
    /// A text that is not a filter, and what to write.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, String> {
        let mut all = Self {
            is_given: !texts.is_empty(),
            blocks: Vec::new(),
        };
        for text in texts {
            let filters =
                id_filters(text).map_err(|(what, hint)| format!("`{text}`: {what}; {hint}"))?;
            for filter in &filters {
                for (class, is_eff) in [(KeyClass::Sff, false), (KeyClass::Eff, true)] {
                    blocks(filter, class, &mut |mask, value| {
                        all.blocks.push((is_eff, mask, value));
                    });
                }
            }
        }
        Ok(all)
    }

    /// Returns whether a frame passes. An XL frame is matched by its priority.
    pub(crate) fn passes(&self, frame: FrameRef<'_>) -> bool {
        let id: CanId = frame.id();
        let is_match = |&(is_eff, mask, value): &(bool, u32, u32)| {
            is_eff == id.is_eff() && id.raw() & mask == value
        };
        !self.is_given || self.blocks.iter().any(is_match)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Frame;

    fn passing(filters: &[&str], frames: &[&str]) -> Vec<String> {
        let filters: Vec<String> = filters.iter().map(|text| (*text).to_owned()).collect();
        let filter = FrameFilter::parse(&filters).unwrap();
        let passes = |text: &&&str| {
            let frame: Frame = text.parse().unwrap();
            filter.passes(frame.view())
        };
        frames
            .iter()
            .filter(passes)
            .map(|text| (*text).to_owned())
            .collect()
    }

    #[test]
    fn the_syntax_is_that_of_routes() {
        let frames = [
            "123#11",
            "124#22",
            "00000123#",
            "18DAF110##1AA",
            "123#R",
            "2A0#",
        ];
        assert_eq!(passing(&[], &frames), frames);
        assert_eq!(passing(&["123"], &frames), ["123#11", "123#R"]);
        assert_eq!(
            passing(&["00000123", "200-2FF"], &frames),
            ["00000123#", "2A0#"]
        );
        assert_eq!(
            passing(&["100:700"], &frames),
            ["123#11", "124#22", "123#R"]
        );
        assert_eq!(passing(&["!123"], &frames), ["124#22", "2A0#"]);
        let error = FrameFilter::parse(&["12".to_owned()]).unwrap_err();
        assert!(error.contains("three or eight"), "{error}");
    }
}
