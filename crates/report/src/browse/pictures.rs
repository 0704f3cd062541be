//! The costs of a run as a picture, for wide and narrow, light and dark screens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weighbridge_model::summary::{Detail, Summary};

use crate::plot::{Kind, Options, PlotError, Plotter, Theme};

/// Widths in pixels, and the media query of the narrower.
const WIDE: u32 = 1072;
const NARROW: u32 = 360;
const IS_NARROW: &str = "(max-width: 44rem)";
const IS_DARK: &str = "(prefers-color-scheme: dark)";

/// A `<picture>`; empty if no cost has figures. Browsers run no script of a picture.
pub fn forest(summary: &Summary, detail: &Detail) -> Result<String, PlotError> {
    let plotter = Plotter::new(summary, detail)?;
    let address = |theme: Theme, width: u32| {
        let options = Options { theme, width: Some(width), ..Options::default() };
        match plotter.svg(Kind::Forest, &options) {
            Ok(svg) => Ok(format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg))),
            Err(PlotError::Nothing(_) | PlotError::Refused(_)) => Ok(String::new()),
            Err(error) => Err(error),
        }
    };
    let usual = address(Theme::Light, WIDE)?;
    if usual.is_empty() {
        return Ok(usual);
    }
    let mut sources = String::new();
    for (media, theme, width) in [
        (format!("{IS_NARROW} and {IS_DARK}"), Theme::Dark, NARROW),
        (IS_NARROW.to_owned(), Theme::Light, NARROW),
        (IS_DARK.to_owned(), Theme::Dark, WIDE),
    ] {
        sources.push_str(&format!("<source media=\"{media}\" srcset=\"{}\">\n", address(theme, width)?));
    }
    Ok(format!(
        "<picture class=\"forest\">\n{sources}<img src=\"{usual}\" alt=\"costs with their intervals, as in the tables of the report\">\n\
         </picture>\n"
    ))
}
