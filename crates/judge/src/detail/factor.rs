//! Factors of the matrix whose values are numbers, so that charts can use them as an axis.
//!
//! All values of such a factor must read as the same kind of quantity; other factors remain names.

use weighbridge_model::detail::{Axis, Scale};
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond};

use crate::question::Question;

pub fn axes(question: &Question) -> Vec<Axis> {
    let mut keys: Vec<&String> = question.points.iter().flat_map(|point| point.label.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().filter_map(|key| axis(question, key)).collect()
}

fn axis(question: &Question, key: &str) -> Option<Axis> {
    let mut labels: Vec<&String> = question.points.iter().filter_map(|point| point.label.get(key)).collect();
    labels.sort_unstable();
    labels.dedup();
    let scales: &[Scale] = match key.rsplit('.').next().unwrap_or(key) {
        "size" => &[Scale::Bytes],
        "rate" | "sessions" => &[Scale::PerSecond],
        _ => &[Scale::Count, Scale::Ns, Scale::Bytes, Scale::PerSecond],
    };
    let read = |scale: &Scale| {
        let each = labels.iter().map(|label| Some(((*label).clone(), number(*scale, label)?)));
        Some((*scale, each.collect::<Option<Vec<(String, f64)>>>()?))
    };
    let (scale, mut values) = scales.iter().find_map(read)?;
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    (values.len() > 1).then(|| Axis { key: key.to_owned(), scale, values })
}

fn number(scale: Scale, text: &str) -> Option<f64> {
    match scale {
        Scale::Bytes => text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64),
        Scale::PerSecond => text.parse::<PerSecond>().ok().map(PerSecond::get),
        Scale::Ns => text.parse::<Nanoseconds>().ok().map(|time| time.as_nanos() as f64),
        Scale::Count => text.parse::<f64>().ok().filter(|number| number.is_finite()),
    }
}
