//! `plan.json`: the stored plan of a run.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::Batches;
use crate::experiment::PlanRules;
use crate::id::{PointId, VariantId};

/// `plan.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PlanFile {
    /// Plan of a measured run.
    Measured(Box<RunPlan>),
    /// Another program measured.
    Imported(ImportedPlan),
}

/// The file's content if another program measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedPlan {
    /// Always true.
    pub imported: bool,
}

/// Seeds and rules of a run, its batches of variants, and its first block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// The plan with every default filled in.
    pub rules: PlanRules,
    /// Whether it was a quick run.
    pub quick: bool,
    /// Whether the budget counts only measured time, as with `weigh load`.
    pub measured_budget: bool,
    /// The folder of the experiment's file; relative paths start there.
    pub experiment_folder: Option<PathBuf>,
    /// Address to connect to instead of those in the URLs.
    pub connect_to: Option<ConnectTo>,
    /// Names of the variants, in the experiment's order.
    pub variants: Vec<String>,
    /// Which variants live at once. Absent in older records, where all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Batches>,
    /// The batches of the first block, in the order they run.
    pub first_block: Vec<BatchPlan>,
    /// How many blocks an earlier run advises; `null` if the plan alone decides. Absent in a plan that was
    /// only printed, because earlier runs were not searched then.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub division: Option<Option<Division>>,
}

/// An address that replaces those of URLs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectTo {
    pub host: String,
    pub port: u16,
}

/// One batch of a block with its orders; variants by number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchPlan {
    pub batch: u32,
    /// Its variants in the order they are started.
    pub starts: Vec<VariantId>,
    /// Its variants in the order they are connected to, at every point.
    pub connects: Vec<VariantId>,
    /// Points in the order they are measured.
    pub points: Vec<PointId>,
    /// For each point: the variants of the first four rounds, in the order of their windows.
    pub first_rounds_of_each_point: Vec<Vec<Vec<VariantId>>>,
    /// For each point: the order of variants if they run one after another, each for its whole share of the
    /// time. Whether that is needed may only turn out during the run.
    pub stretches_of_each_point: Vec<Vec<VariantId>>,
}

/// A number of blocks and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Division {
    /// Blocks to run, within the plan's fewest and most.
    pub blocks: u32,
    /// The run that advises it.
    pub run: String,
}

impl PlanFile {
    pub const IMPORTED: Self = Self::Imported(ImportedPlan { imported: true });

    /// Reads the file. It is parsed twice, so that an error names the line in the kind of plan that is meant.
    pub fn from_json(json: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Origin {
            #[serde(default)]
            imported: bool,
        }
        let Origin { imported } = serde_json::from_slice(json)?;
        if imported { Ok(Self::IMPORTED) } else { serde_json::from_slice(json).map(Self::Measured) }
    }
}

/// Deserialises a key that is present, `null` or not; by itself serde reads `null` like a missing key.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<Division>>, D::Error> {
    Option::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by a run.
    const WRITTEN: &str = include_str!("../../testdata/plan.json");

    fn read(text: &str) -> Result<PlanFile, String> {
        PlanFile::from_json(text.as_bytes()).map_err(|error| error.to_string())
    }

    /// As the store writes it, with sorted keys.
    fn write(plan: &PlanFile) -> String {
        let value = serde_json::to_value(plan).expect("plain data");
        format!("{value:#}\n")
    }

    #[test]
    fn a_plan_that_a_run_wrote_is_read_and_written_byte_by_byte() {
        let plan = read(WRITTEN).expect("a plan");
        assert_eq!(write(&plan), WRITTEN);
        let PlanFile::Measured(mut plan) = plan else { panic!("it was measured") };
        assert_eq!(plan.division, Some(None), "the plan alone decides");
        plan.division = None;
        let printed = write(&PlanFile::Measured(plan));
        assert!(!printed.contains("division"), "nobody looked for a run");
        assert_eq!(write(&read(&printed).expect("a plan")), printed);
    }

    #[test]
    fn an_imported_run_has_no_plan() {
        assert_eq!(read(r#"{"imported":true}"#), Ok(PlanFile::IMPORTED));
        assert_eq!(write(&PlanFile::IMPORTED), "{\n  \"imported\": true\n}\n");
    }

    #[test]
    fn a_plan_of_before_there_were_batches_says_nothing_of_them() {
        let mut value: serde_json::Value = serde_json::from_str(WRITTEN).expect("JSON");
        value.as_object_mut().expect("an object").remove("batches");
        let PlanFile::Measured(plan) = read(&value.to_string()).expect("a plan") else { panic!("measured") };
        assert_eq!(plan.batches, None);
        assert_eq!(write(&PlanFile::Measured(plan)), format!("{value:#}\n"));
    }

    #[test]
    fn what_is_no_plan_is_refused_with_the_field_or_the_line() {
        assert!(read("{}").is_err_and(|error| error.starts_with("missing field `rules`")));
        assert!(read("[]").is_err());
        let bent = WRITTEN.replace("\"quick\": false", "\"quick\": \"no\"");
        let error = read(&bent).expect_err("bent");
        let line = 1 + bent.lines().position(|line| line.contains("\"no\"")).expect("the line");
        assert!(error.starts_with("invalid type: string \"no\", expected a boolean"), "{error}");
        assert!(error.contains(&format!("at line {line} ")), "{error}");
    }
}
