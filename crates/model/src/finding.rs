//! What is known of findings on both sides: names that a report treats unlike the rest, and how a finding is quoted as the
//! reason of a verdict. What findings say otherwise is the judge's alone.

/// A size at which times change at once.
pub const CLIFF: &str = "cliff";
/// Which variant is the fastest at which sizes.
pub const BEST_BY_SIZE: &str = "best by size";
/// Layers whose costs do not add up.
pub const LAYERS_INTERACT: &str = "layers interact";

/// A finding as a reason: its name, then what was seen.
pub fn reason(name: &str, evidence: &str) -> String {
    format!("{name}: {evidence}")
}

/// A finding as a reason where it may be of either of two variants.
pub fn variant_reason(name: &str, variant: &str, evidence: &str) -> String {
    reason(&format!("{name} (`{variant}`)"), evidence)
}

/// What stands before the evidence in a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingHead<'r> {
    /// The finding's name, with that of the variant where it is told.
    pub text: &'r str,
    /// The finding's name alone.
    pub name: &'r str,
}

/// The head of a reason, which is that of a finding if there is one of its name.
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
