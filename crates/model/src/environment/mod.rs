//! What a run's environment was: `environment.json`.
//!
//! Of older runs parts may be missing, and of an imported one all but where it comes from.

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
    /// This program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weigh: Option<WeighBuild>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    /// How idle cores waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleWait>,
    /// Versions of the programs by which networks of layers are made; empty where no variant has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<BTreeMap<String, String>>,
    /// The program of each variant, in the experiment's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantBuild>,
    /// Where an imported run's figures come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportSource>,
}

/// The build of this program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WeighBuild {
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of its executable.
    pub executable_sha256: Option<String>,
}

/// The program of a variant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantBuild {
    /// The variant's name.
    pub name: String,
    /// The program's own word for its version; `null` where it is unknown.
    pub version: Option<String>,
    /// SHA-256 of its executable, or of the files that a command names; `null` where unknown and for URLs.
    pub binary_sha256: Option<String>,
    /// The service that a relay asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerBuild>,
    /// The revision that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<BuiltRevision>,
}

/// The service that a relay asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerBuild {
    /// Its name in the catalogue.
    pub service: String,
    /// Its own word for its version.
    pub version: Option<String>,
    /// SHA-256 of its executable.
    pub binary_sha256: Option<String>,
}

/// A revision from which a program was built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuiltRevision {
    /// Full hash of the commit.
    pub commit: String,
    /// Of the working tree, files that were not as committed; `null` of a checkout of its own.
    pub uncommitted_files: Option<usize>,
}

/// Where an imported run's figures come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportSource {
    /// Format of the files.
    pub format: String,
    /// The files, as they were named.
    pub files: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a run wrote it.
    const WRITTEN: &str = include_str!("../../testdata/environment.json");

    fn again(text: &str) -> String {
        let environment: Environment = serde_json::from_str(text).expect("an environment");
        // As the store writes it: keys by the alphabet.
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
