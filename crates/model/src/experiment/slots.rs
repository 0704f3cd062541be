//! How a variant spreads the load's requests over connections: its keys `connections` and `in_flight`, read and written.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{Read, Reader};
use super::{LoadSpec, Variant};

/// A variant's own connections and requests in flight on each; `None` for the load's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSlots {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
}

impl OwnSlots {
    pub(super) fn read(reader: &Reader<'_>) -> Read<Self> {
        let connections = reader.integer("connections", 1, 60_000)?.map(|n| n as u32);
        let in_flight = reader.integer("in_flight", 1, 1_000)?.map(|n| n as u32);
        Ok(Self { connections, in_flight })
    }

    pub(super) fn write(&self, table: &mut Table) {
        for (key, own) in [("connections", self.connections), ("in_flight", self.in_flight)] {
            if let Some(own) = own {
                table.insert(key.into(), i64::from(own).into());
            }
        }
    }
}

impl fmt::Display for OwnSlots {
    /// `, connections 1, in_flight 4`; empty if the load says both.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, own) in [("connections", self.connections), ("in_flight", self.in_flight)] {
            if let Some(own) = own {
                write!(f, ", {key} {own}")?;
            }
        }
        Ok(())
    }
}

impl Variant {
    /// The load as this variant gets it.
    pub fn load(&self, load: &LoadSpec) -> LoadSpec {
        LoadSpec {
            connections: self.slots.connections.unwrap_or(load.connections),
            in_flight: self.slots.in_flight.unwrap_or(load.in_flight),
            ..load.clone()
        }
    }

    /// Refuses another number of requests at once than the load has: it would be another load.
    pub(super) fn check_slots(&self, load: &LoadSpec) -> Result<(), String> {
        if self.slots == OwnSlots::default() {
            return Ok(());
        }
        let own = self.load(load);
        if own.slots() != load.slots() {
            return Err(format!(
                "variant `{}`: {} × {} in flight are {} requests at once, and the load has {} × {} = {}; `connections` × `in_flight` must be the same",
                self.name,
                own.connections,
                own.in_flight,
                own.slots(),
                load.connections,
                load.in_flight,
                load.slots()
            ));
        }
        if let Some(churn) = load.churn.filter(|churn| churn.get() < own.in_flight) {
            return Err(format!(
                "variant `{}`: `in_flight = {}`, and a connection serves {churn} (`load.churn`); give it fewer in flight",
                self.name, own.in_flight
            ));
        }
        own.check_stamps().map_err(|why| {
            format!("variant `{}`: `load.kernel_timestamps` needs {why}; leave one out", self.name)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    fn experiment(load: &str, own: &str) -> Result<Experiment, String> {
        let text = format!(
            "[workload]\nname = 'person'\n[load]\n{load}\n[[variant]]\nservice = 'go'\n[[variant]]\nname = 'one'\nservice = 'go'\nprotocol = 'grpc'\n{own}\n"
        );
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn four_connections_against_one_with_four_in_flight() {
        let first = experiment("connections = 4", "connections = 1\nin_flight = 4").expect("the same slots");
        let load = &first.points[0].load;
        let loads = [0, 1].map(|at: usize| first.variants[at].load(load));
        assert_eq!(loads.map(|load| (load.connections, load.in_flight)), [(4, 1), (1, 4)]);
        assert_eq!(Experiment::parse("x.toml", &first.to_toml()).expect("what was written"), first);
    }

    #[test]
    fn another_load_is_refused() {
        for (load, own, expected) in [
            (
                "connections = 4",
                "in_flight = 4",
                "4 × 4 in flight are 16 requests at once, and the load has 4 × 1 = 4",
            ),
            ("connections = 4", "connections = 0", "1 to 60000"),
            ("connections = 4\nchurn = 2", "connections = 1\nin_flight = 4", "a connection serves 2"),
            ("connections = 4\nkernel_timestamps = true", "connections = 1\nin_flight = 4", "leave one out"),
            (
                "connections = 4\n[matrix]\nload.connections = [4, 8]",
                "connections = 1\nin_flight = 4",
                "the load has 8 × 1 = 8",
            ),
        ] {
            let error = experiment(load, own).expect_err(own);
            assert!(error.contains(expected), "{own}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
