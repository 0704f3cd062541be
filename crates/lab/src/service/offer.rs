//! A service's offers: the tables `[workloads]` and `[clients]` of its `service.toml`, with the protocols of each workload.

use std::ops::Range;

use serde::Deserialize;
use toml::{Spanned, Table, Value};

/// The answer to the two lists of the older format.
pub(super) const INSTEAD_OF_LISTS: &str = "`workloads` and `protocols` are no lists any more; write a table \
    `[workloads]` behind the keys without a table, with a line `pingpong = [\"http1-json\"]` for each \
    workload: the protocols over which it is offered";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadOffer {
    /// The value of `WORKLOAD`.
    pub name: String,
    /// The possible values of `PROTOCOL`, at least one; `direct` stands for `DIRECT=1`.
    pub protocols: Vec<String>,
}

impl WorkloadOffer {
    pub fn is_over(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|name| name == protocol)
    }
}

/// A key of the table with an invalid value.
#[derive(Debug)]
pub(super) struct BadOffer {
    pub key: String,
    pub value: String,
    pub allowed: &'static str,
}

/// The offers of the table `key`, in its order.
pub(super) fn offers(table: Table, key: &str) -> Result<Vec<WorkloadOffer>, BadOffer> {
    if table.is_empty() || table.contains_key("") {
        let allowed = "a table with at least one workload, each with its protocols";
        return Err(BadOffer { key: key.to_owned(), value: table.to_string(), allowed });
    }
    table.into_iter().map(|(name, protocols)| offer(key, name, protocols)).collect()
}

fn offer(key: &str, name: String, protocols: Value) -> Result<WorkloadOffer, BadOffer> {
    match protocols.clone().try_into::<Vec<String>>() {
        Ok(protocols) if !protocols.is_empty() && !protocols.iter().any(String::is_empty) => {
            Ok(WorkloadOffer { name, protocols })
        }
        _ => Err(BadOffer {
            key: format!("{key}.{name}"),
            value: protocols.to_string(),
            allowed: "a list with at least one protocol",
        }),
    }
}

/// The keys of the old format, whatever else a file contains.
#[derive(Deserialize)]
struct Lists {
    workloads: Option<Spanned<Value>>,
    protocols: Option<Spanned<Value>>,
}

/// Where a file of the old format has such a list.
pub(super) fn place_of_lists(text: &str) -> Option<Range<usize>> {
    let Lists { workloads, protocols } = toml::from_str(text).ok()?;
    let list = workloads.filter(|workloads| workloads.get_ref().is_array()).or(protocols)?;
    Some(list.span())
}
