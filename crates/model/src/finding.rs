//! What judge and report must agree on about findings: names that a report treats specially, and how a
//! verdict's reason quotes a finding. The other findings are private to the judge.

/// A size at which times change at once.
pub const CLIFF: &str = "cliff";
/// Which variant is the fastest at which sizes.
pub const BEST_BY_SIZE: &str = "best by size";
/// Layers whose costs do not add up.
pub const LAYERS_INTERACT: &str = "layers interact";

/// A session that takes another time than its calls do where each is measured alone.
pub const NOT_ITS_PARTS: &str = "composition is not its parts";

/// A finding as the reason of a verdict.
pub fn reason(name: &str, evidence: &str) -> String {
    format!("{name}: {evidence}")
}

/// The same, for a finding that may be about either of two variants.
pub fn variant_reason(name: &str, variant: &str, evidence: &str) -> String {
    reason(&format!("{name} (`{variant}`)"), evidence)
}

/// The part of a reason before the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingHead<'r> {
    /// The finding's name, with the variant's if the reason has it.
    pub text: &'r str,
    pub name: &'r str,
}

/// The head of a reason. It is a finding's only if there is a finding of that name.
pub fn head(reason: &str) -> Option<FindingHead<'_>> {
    let (text, _) = reason.split_once(": ")?;
    Some(FindingHead { text, name: text.split_once(" (").map_or(text, |(name, _)| name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_tells_the_finding_that_it_quotes() {
        let plain = reason("depends on window", "changes by 5 %: in windows ten times as long");
        assert_eq!(head(&plain), Some(FindingHead { text: "depends on window", name: "depends on window" }));
        let of_variant = variant_reason("few tail events", "rust", "2 windows a block");
        assert_eq!(of_variant, "few tail events (`rust`): 2 windows a block");
        assert_eq!(
            head(&of_variant),
            Some(FindingHead { text: "few tail events (`rust`)", name: "few tail events" })
        );
        assert_eq!(head("measurable"), None);
    }
}
