//! The environment of a run: `environment.json`.
//!
//! Older runs may lack parts; an imported run has only its source.

mod host;
mod idle_states;
mod kernel;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idle::IdleWait;

pub use host::{
    BufferSizes, CgroupFacts, CgroupVersion, CoreId, GitRevision, HostFacts, Hypervisor, Limit, PortRange,
    WorkingTree,
};
pub use idle_states::{IdleFacts, IdleState};
pub use kernel::{
    AddressLayout, Frequency, HugePages, Interrupts, KernelSettings, Numa, PacketSteering, Switch,
};

/// `environment.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weigh: Option<WeighBuild>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleWait>,
    /// Versions of the programs that set up layers; empty if no variant has layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<BTreeMap<String, String>>,
    /// The program of each variant, in the experiment's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantBuild>,
    /// Source of an imported run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportSource>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WeighBuild {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of its executable.
    pub executable_sha256: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantBuild {
    pub name: String,
    /// The version that the program reports; `null` if unknown.
    pub version: Option<String>,
    /// SHA-256 of its executable, or of the files that a command names; `null` if unknown and for URLs.
    pub binary_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerBuild>,
    /// The server that was started for its database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseBuild>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<BuiltRevision>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerBuild {
    pub service: String,
    pub version: Option<String>,
    /// SHA-256 of its executable.
    pub binary_sha256: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseBuild {
    /// As the experiment names it: `postgres`.
    pub engine: String,
    pub version: Option<String>,
}

/// A revision from which a program was built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuiltRevision {
    /// Full hash of the commit.
    pub commit: String,
    /// For the working tree: how many files differed from the commit; `null` for a checkout of its own.
    pub uncommitted_files: Option<usize>,
}

/// Source of an imported run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportSource {
    pub format: String,
    /// The files, as given on the command line.
    pub files: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by a run.
    const WRITTEN: &str = include_str!("../../testdata/environment.json");

    fn again(text: &str) -> String {
        let environment: Environment = serde_json::from_str(text).expect("an environment");
        // The store sorts keys.
        let value = serde_json::to_value(environment).expect("plain data");
        format!("{value:#}\n")
    }

    #[test]
    fn an_environment_that_a_run_wrote_is_read_and_written_byte_by_byte() {
        assert_eq!(again(WRITTEN), WRITTEN);
    }

    #[test]
    fn parts_that_older_and_imported_runs_lack_stay_missing() {
        let older = "{\n  \"variants\": [\n    {\n      \"binary_sha256\": null,\n      \"name\": \"a\",\n      \
                     \"version\": null\n    }\n  ],\n  \"weigh\": {\n    \"executable_sha256\": null\n  }\n}\n";
        assert_eq!(again(older), older);
        let imported = "{\n  \"imported\": {\n    \"files\": [\n      \"log.csv\"\n    ],\n    \"format\": \
                        \"ppbench\"\n  }\n}\n";
        assert_eq!(again(imported), imported);
    }
}
