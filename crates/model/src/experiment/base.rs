//! `base` of a variant: how many users and holdings there are in the brokerage in which its sessions take place.
//!
//! Stocks, users and sessions of a script are the beginning of every longer one, so the same sessions can be played in a
//! larger base.

use super::node::{Node, Read, Reader, Value};
use super::workload::trade::PASSAGE_MOST;
use super::{ScriptSize, Target, Variant};

/// The sessions of the script of which it has the users; `None` for those that are played.
pub(super) fn read(reader: &Reader<'_>) -> Read<Option<u32>> {
    reader.value("base", |node: &Node| {
        let named = ScriptSize::named(&node.show()).map(ScriptSize::sessions);
        let number = match node.value {
            Value::Integer(number) => u32::try_from(number).ok(),
            _ => named,
        };
        number.filter(|sessions| (1..=PASSAGE_MOST).contains(sessions)).ok_or_else(|| {
            let names = ScriptSize::ALL.map(|size| format!("`{}`", size.name())).join(", ");
            format!("`{}` must be one of {names}, or sessions from 1 to {PASSAGE_MOST}", node.show())
        })
    })
}

/// Errors: in words, why the variant cannot have its base.
pub(super) fn check(variant: &Variant) -> Result<(), String> {
    match (&variant.target, variant.base) {
        (_, None) | (Target::Service { .. }, Some(_)) => Ok(()),
        _ => Err("`base` belongs to `service`, which is given the records that it begins with".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_back;

    fn parse(workload: &str, variant: &str) -> Result<Option<u32>, String> {
        let text = format!("[workload]\n{workload}\n[[variant]]\n{variant}\n");
        Ok(read_back(&text)?.variants.remove(0).base)
    }

    #[test]
    fn it_is_a_size_or_a_number_of_sessions() {
        let trade = "name = 'trade'\nsize = 'small'";
        for (written, base) in [("'huge'", 8_192), ("'small'", 32), ("40", 40)] {
            let found = parse(trade, &format!("service = 'rust-trade'\nbase = {written}"));
            assert_eq!(found, Ok(Some(base)), "{written}");
        }
        assert_eq!(parse(trade, "service = 'rust-trade'"), Ok(None));
    }

    #[test]
    fn a_matrix_makes_variants_of_bases() {
        let text =
            "[workload]\nname = 'trade'\n[matrix]\nservice = ['rust-trade']\nbase = ['default', 'huge']\n";
        let variants = read_back(text).expect("an experiment").variants;
        let seen: Vec<_> = variants.iter().map(|one| (one.name.as_str(), one.base)).collect();
        assert_eq!(seen, [("rust-trade/default", Some(256)), ("rust-trade/huge", Some(8_192))]);
    }

    #[test]
    fn mistakes_are_told() {
        let trade = "name = 'trade'";
        for (workload, variant, part) in [
            (trade, "service = 'go'\nbase = 'tiny'", "`tiny` must be one of `small`"),
            (trade, "service = 'go'\nbase = 0", "sessions from 1 to 32768"),
            (trade, "service = 'go'\nbase = 255", "`base` 255 is less than the 256 sessions that are played"),
            (trade, "command = 'x'\nbase = 'huge'", "`base` belongs to `service`"),
            ("name = 'pingpong'", "service = 'go'\nbase = 'huge'", "`base` belongs to the workload `trade`"),
            (
                "name = 'trade'\nscript = 'x'",
                "service = 'go'\nbase = 'huge'",
                "the script of `x` has the users that it has",
            ),
        ] {
            let error = parse(workload, variant).expect_err(variant);
            assert!(error.contains(part), "{variant}: {error}");
        }
    }
}
