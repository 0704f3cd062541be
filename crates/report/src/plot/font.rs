//! The font of charts. It is shipped, so that a chart looks the same on every machine and no text is missing.
//!
//! It is Inter, under the SIL Open Font License, which is beside the files. The system's fonts are searched
//! only for characters that Inter lacks.

use std::collections::BTreeSet;
use std::sync::Arc;

use resvg::usvg::fontdb::Database;
use ttf_parser::Face;

const REGULAR: &[u8] = include_bytes!("font/Inter-Regular.ttf");
const BOLD: &[u8] = include_bytes!("font/Inter-SemiBold.ttf");
/// First in the font list of every chart.
pub(super) const FAMILY: &str = "Inter";

/// Measures the width of text.
pub(super) struct Widths {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Widths {
    pub(super) fn new() -> Self {
        let face = |bytes| Face::parse(bytes, 0).expect("the shipped font is one");
        Self { regular: face(REGULAR), bold: face(BOLD) }
    }

    /// The width of a line as a multiple of the font size, without kerning. A character that the font lacks
    /// counts as 1.
    pub(super) fn advance(&self, text: &str, bold: bool) -> f64 {
        let face = if bold { &self.bold } else { &self.regular };
        let width = |c: char| {
            let advance = face.glyph_index(c).and_then(|glyph| face.glyph_hor_advance(glyph));
            advance.map_or(1.0, |advance| f64::from(advance) / f64::from(face.units_per_em()))
        };
        text.chars().map(width).sum()
    }

    /// The characters of a text that the font lacks.
    pub(super) fn missing(&self, text: &str) -> BTreeSet<char> {
        text.chars().filter(|c| !c.is_control() && self.regular.glyph_index(*c).is_none()).collect()
    }
}

/// The shipped font, and the system's fonts if the chart has characters that it lacks.
pub(super) fn fonts_for(drawing: &str) -> Arc<Database> {
    let mut fonts = Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    if !Widths::new().missing(drawing).is_empty() {
        fonts.load_system_fonts();
    }
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_fonts_own() {
        let widths = Widths::new();
        // Inter's digits have the same width only with a font feature that is off; its 1 is narrow.
        assert!(widths.advance("1", false) < widths.advance("0", false));
        assert!((widths.advance("00", false) / widths.advance("0", false) - 2.0).abs() < 1e-9);
        assert!(widths.advance("width", true) > widths.advance("width", false));
        assert!((0.4..0.8).contains(&widths.advance("n", false)));
    }

    #[test]
    fn every_sign_that_charts_use_is_in_the_font() {
        let widths = Widths::new();
        assert_eq!(widths.missing("µ − + ± × ÷ ≤ … · – ’ “ ” % [ ] / ( ) ü é ß Ω Ж"), BTreeSet::new());
        assert_eq!(
            widths.missing("a\u{4e2d}b\u{4e2d}"),
            BTreeSet::from(['\u{4e2d}']),
            "and what it lacks is known"
        );
    }
}
