//! Plain SVG: shapes with a class, never a colour, so that one style sheet serves light, dark and print. Text is
//! escaped here; classes come from this crate only.

use super::escape::{escape, figure};

/// Which end of a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing in units of about one CSS pixel, origin at the top left.
#[derive(Debug)]
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
        self.body
            .push_str(&format!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{class}\"/>"));
    }

    /// A rectangle from its top left corner; no extent becomes negative.
    pub(crate) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), class: &str) {
        let [x, y, width, height] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(coordinate);
        self.body.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}\"/>"
        ));
    }

    /// A dot that says `title` when it is pointed at.
    pub(crate) fn dot(&mut self, at: (f64, f64), radius: f64, class: &str, title: &str) {
        let [x, y, radius] = [at.0, at.1, radius].map(coordinate);
        self.body.push_str(&format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" class=\"{class}\"><title>{}</title></circle>",
            figure(title)
        ));
    }

    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        self.raw_text(at, anchor, class, &escape(text));
    }

    /// Text made of figures: hyphens become minus signs.
    pub(crate) fn figures(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        self.raw_text(at, anchor, class, &figure(text));
    }

    fn raw_text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, escaped: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y] = [at.0, at.1].map(coordinate);
        self.body.push_str(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{escaped}</text>"
        ));
    }

    /// A line through all points.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let at = points.iter().map(|(x, y)| format!("{} {}", coordinate(*x), coordinate(*y)));
        let path = at.collect::<Vec<_>>().join("L");
        if !path.is_empty() {
            self.body.push_str(&format!("<path d=\"M{path}\" class=\"{class}\"/>"));
        }
    }

    /// Many small dots as one path; the style's line width is their diameter.
    pub(crate) fn dots(&mut self, points: &[(f64, f64)], class: &str) {
        let path: String =
            points.iter().map(|(x, y)| format!("M{} {}h0", coordinate(*x), coordinate(*y))).collect();
        if !path.is_empty() {
            self.body.push_str(&format!("<path d=\"{path}\" class=\"{class}\"/>"));
        }
    }

    /// The drawing as an element; `title` says what is seen.
    pub(crate) fn finish(self, title: &str) -> String {
        let title = escape(title);
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>{}</svg>\n",
            coordinate(self.width),
            coordinate(self.height),
            self.body
        )
    }
}

/// A coordinate with one decimal at most; what is not a number lies at the origin.
fn coordinate(value: f64) -> String {
    let rounded = if value.is_finite() { (value * 10.0).round() / 10.0 } else { 0.0 };
    if rounded == 0.0 { "0".into() } else { rounded.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_and_numbers_make_a_drawing_still() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text((f64::NAN, 1.26), Anchor::Middle, "label", "</text><script>");
        canvas.rectangle((1.0, 1.0), (-5.0, f64::INFINITY), "band");
        let svg = canvas.finish("a \"b\" <c>");
        assert!(!svg.contains("<script>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(
            svg.contains("x=\"0\" y=\"1.3\"") && svg.contains("aria-label=\"a &quot;b&quot; &lt;c&gt;\"")
        );
    }
}
