//! What judge and report must agree on about findings: names that a report treats specially, and how a
//! verdict's reason quotes a finding. The other findings are private to the judge.

/// A size at which times change at once.
pub const CLIFF: &str = "cliff";
/// Which variant is the fastest at which sizes.
pub const BEST_BY_SIZE: &str = "best by size";
/// Requests that were sent later than they were due, by the generator's doing.
pub const GENERATOR_LATE: &str = "generator late";
/// A server that ran already, so that it is not started in each block.
pub const ONE_INSTANCE: &str = "one instance";
/// Layers whose costs do not add up.
pub const LAYERS_INTERACT: &str = "layers interact";

/// A session that takes another time than its calls do where each is measured alone.
pub const NOT_ITS_PARTS: &str = "composition is not its parts";

/// Notes that may change what a reader does, so that a terminal shows them by default.
pub const WORTH_READING: [&str; 7] = [
    GENERATOR_LATE,
    CLIFF,
    LAYERS_INTERACT,
    NOT_ITS_PARTS,
    "depends on idle cores",
    "depends on core latency",
    "delayed acknowledgement",
];

/// What people read instead of a name that would have to be explained; the name itself stays in JSON.
const TITLES: [(&str, &str); 7] = [
    ("few tail events", "rare slow windows"),
    ("depends on turns", "slower or faster after idling"),
    ("depends on window", "depends on window length"),
    ("longer turns", "longer windows after idling"),
    (ONE_INSTANCE, "not restarted"),
    ("no null path", "price of the path not separated"),
    (NOT_ITS_PARTS, "session differs from its calls"),
];

/// A finding's name as people read it.
pub fn title(name: &str) -> &str {
    TITLES.iter().find(|(known, _)| *known == name).map_or(name, |(_, title)| *title)
}

/// A finding as the reason of a verdict.
pub fn reason(name: &str, evidence: &str) -> String {
    format!("{}: {evidence}", title(name))
}

/// The same, for a finding that may be about either of two variants.
pub fn variant_reason(name: &str, variant: &str, evidence: &str) -> String {
    format!("{} (`{variant}`): {evidence}", title(name))
}

/// The part of a reason before the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingHead<'r> {
    /// The finding's title, with the variant's name if the reason has it.
    pub text: &'r str,
    /// The title alone.
    title: &'r str,
}

impl FindingHead<'_> {
    /// Whether it is the head of this finding.
    pub fn is_of(&self, name: &str) -> bool {
        self.title == title(name) || self.title == name
    }
}

/// The head of a reason. It is a finding's only if there is a finding of that title.
pub fn head(reason: &str) -> Option<FindingHead<'_>> {
    let (text, _) = reason.split_once(": ")?;
    Some(FindingHead { text, title: text.split_once(" (").map_or(text, |(title, _)| title) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_tells_the_finding_that_it_quotes() {
        let plain = reason("depends on window", "changes by 5 %: in windows ten times as long");
        let plain = head(&plain).expect("a head");
        assert!(plain.text == "depends on window length" && plain.is_of("depends on window"));
        let of_variant = variant_reason("few tail events", "rust", "2 windows a block");
        assert_eq!(of_variant, "rare slow windows (`rust`): 2 windows a block");
        let of_variant = head(&of_variant).expect("a head");
        assert!(of_variant.text == "rare slow windows (`rust`)" && of_variant.is_of("few tail events"));
        assert!(!of_variant.is_of("drift"));
        assert_eq!(head("measurable"), None);
    }
}
