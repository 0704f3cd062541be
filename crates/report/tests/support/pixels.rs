//! Compares pictures, and inspects charts.

use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Group, Node, Options, Tree};

/// How far a channel of a pixel may be off: machines round floating-point numbers differently.
const CHANNEL: u8 = 24;
/// Share of the pixels that may be further off.
const SHARE: f64 = 0.0005;

pub fn assert_alike(kept: &[u8], made: &[u8], name: &str) {
    let read = |bytes: &[u8], which: &str| {
        Pixmap::decode_png(bytes)
            .unwrap_or_else(|error| panic!("`{name}.png`, {which}: {error}; set UPDATE_GOLDEN=1 to write it"))
    };
    let (kept, made) = (read(kept, "kept"), read(made, "made"));
    assert_eq!((kept.width(), kept.height()), (made.width(), made.height()), "`{name}.png`");
    let differs = |(a, b): &(&[u8], &[u8])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > CHANNEL);
    let off = kept.data().chunks(4).zip(made.data().chunks(4)).filter(differs).count();
    let all = f64::from(kept.width()) * f64::from(kept.height());
    assert!(
        off as f64 <= SHARE * all,
        "`{name}.png`: {off} pixels differ; if that is meant, set UPDATE_GOLDEN=1"
    );
}

/// Number of texts that have a width when only the shipped font is there.
pub fn shaped_texts(svg: &str) -> usize {
    let mut options = Options { font_family: "Inter".into(), ..Options::default() };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plot/font");
    options.fontdb_mut().load_fonts_dir(folder);
    options.fontdb_mut().set_sans_serif_family("Inter");
    shaped(Tree::from_str(svg, &options).expect("an SVG").root())
}

fn shaped(group: &Group) -> usize {
    let each = group.children().iter().map(|node| match node {
        Node::Group(inner) => shaped(inner),
        Node::Text(text) => usize::from(text.flattened().abs_bounding_box().width() > 0.0),
        _ => 0,
    });
    each.sum()
}
