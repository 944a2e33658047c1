//! A chart's SVG as PNG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use std::sync::Arc;

/// A picture could not be made from an SVG.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// The SVG cannot be read.
    #[error("cannot read the chart's SVG: {0}")]
    Svg(String),
    /// The picture cannot be made.
    #[error("cannot make the chart's PNG: {0}")]
    Picture(String),
}

/// Renders SVGs. Its one font, `DejaVu` Sans, is part of the program: the same SVG gives the same
/// picture on every machine.
pub struct Renderer {
    options: Options<'static>,
}

impl Default for Renderer {
    fn default() -> Self {
        Self::new()
    }
}

impl Renderer {
    /// Reads the font.
    #[must_use]
    pub fn new() -> Self {
        let mut fonts = Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        let options = Options {
            font_family: "DejaVu Sans".to_owned(),
            fontdb: Arc::new(fonts),
            ..Options::default()
        };
        Self { options }
    }

    /// The PNG of an SVG, `scale` pixels for each of the SVG's.
    ///
    /// # Errors
    /// [`PngError`].
    pub fn png(&self, svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
        let tree = Tree::from_str(svg, &self.options).map_err(|e| PngError::Svg(e.to_string()))?;
        let size = tree.size();
        let (width, height) = (
            (size.width() * scale).ceil(),
            (size.height() * scale).ceil(),
        );
        let Some(mut picture) = Pixmap::new(width as u32, height as u32) else {
            return Err(PngError::Picture(format!(
                "{width} × {height} pixels are no size for it"
            )));
        };
        resvg::render(
            &tree,
            Transform::from_scale(scale, scale),
            &mut picture.as_mut(),
        );
        picture
            .encode_png()
            .map_err(|e| PngError::Picture(e.to_string()))
    }
}
