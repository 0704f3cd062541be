//! JSON schemas of what is printed or stored as JSON, generated from the types.

use std::fmt;
use std::str::FromStr;

use schemars::generate::SchemaSettings;
use weighbridge_model::environment::Environment;
use weighbridge_model::event::TimedEvent;
use weighbridge_model::plan::PlanFile;
use weighbridge_model::reliability::HostCalibration;
use weighbridge_model::summary::{Detail, Summary};

use crate::html::PageData;
use crate::json;
use crate::load::LoadSummary;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    Summary,
    Detail,
    Event,
    Plan,
    Environment,
    Load,
    Calibration,
    Page,
}

impl Schema {
    pub const ALL: [Self; 8] = [
        Self::Summary,
        Self::Detail,
        Self::Event,
        Self::Plan,
        Self::Environment,
        Self::Load,
        Self::Calibration,
        Self::Page,
    ];

    /// Also the name of its file in `docs/schema`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Detail => "detail",
            Self::Event => "event",
            Self::Plan => "plan",
            Self::Environment => "environment",
            Self::Load => "load",
            Self::Calibration => "calibration",
            Self::Page => "page",
        }
    }

    /// One line on the JSON that it describes.
    pub const fn describes(self) -> &'static str {
        match self {
            Self::Summary => "summary.json, and what run, compare and export print as JSON",
            Self::Detail => "detail.json: what charts draw",
            Self::Event => "one line of events.jsonl",
            Self::Plan => "plan.json, and what plan prints as JSON",
            Self::Environment => "environment.json: host, programs and toolchains of a run",
            Self::Load => "what load prints of one URL as JSON",
            Self::Calibration => "what calibrate prints as JSON",
            Self::Page => "the data inside a page: summary.json and detail.json of each run",
        }
    }

    /// Indented, with a final newline.
    pub fn text(self) -> String {
        json::pretty(&match self {
            Self::Summary => schemars::schema_for!(Summary),
            Self::Detail => schemars::schema_for!(Detail),
            Self::Event => schemars::schema_for!(TimedEvent),
            Self::Plan => schemars::schema_for!(PlanFile),
            Self::Environment => schemars::schema_for!(Environment),
            // It is never read back, so fields that may be left out are not required.
            Self::Load => SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator()
                .into_root_schema_for::<LoadSummary>(),
            Self::Calibration => schemars::schema_for!(HostCalibration),
            Self::Page => schemars::schema_for!(PageData<'_>),
        })
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` has no schema; allowed: {list}", list = Schema::ALL.map(Schema::name).join(", "))]
pub struct UnknownSchema(pub String);

impl FromStr for Schema {
    type Err = UnknownSchema;
    fn from_str(text: &str) -> Result<Self, UnknownSchema> {
        let name = text.trim().to_lowercase();
        let found = Self::ALL.into_iter().find(|schema| schema.name() == name);
        found.ok_or_else(|| UnknownSchema(text.to_owned()))
    }
}
