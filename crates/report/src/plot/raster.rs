//! Renders SVG as PNG or PDF, with text in the shipped font.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::PlotError;
use super::font::{FAMILY, fonts_for};

/// Most pixels per side.
const MOST_PIXELS: f32 = 20_000.0;

fn parsed(svg: &str) -> Result<Tree, PlotError> {
    let options = Options { font_family: FAMILY.to_owned(), fontdb: fonts_for(svg), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| PlotError::NotDrawn(error.to_string()))
}

/// Renders `svg` as PNG; at `scale` 1 a pixel of the SVG is one of the picture.
///
/// Errors: [`PlotError::NotDrawn`] for text that is no SVG, and for pictures without pixels or with more than
/// 20,000 a side.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    let tree = parsed(svg)?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    let fits = |side: f32| (1.0..=MOST_PIXELS).contains(&side);
    let picture = if fits(width) && fits(height) {
        Pixmap::new(width.ceil() as u32, height.ceil() as u32)
    } else {
        None
    };
    let mut picture = picture.ok_or_else(|| {
        PlotError::NotDrawn(format!(
            "{width:.0} by {height:.0} pixels are not between 1 and {MOST_PIXELS} a side"
        ))
    })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| PlotError::NotDrawn(error.to_string()))
}

/// Renders `svg` as a PDF of one page; its text stays text.
#[cfg(feature = "pdf")]
pub fn pdf(svg: &str) -> Result<Vec<u8>, PlotError> {
    let (conversion, page) = (svg2pdf::ConversionOptions::default(), svg2pdf::PageOptions::default());
    svg2pdf::to_pdf(&parsed(svg)?, conversion, page).map_err(|error| PlotError::NotDrawn(error.to_string()))
}
