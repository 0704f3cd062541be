//! How a run is done, beside what its experiment says.

use std::path::PathBuf;

use weighbridge_lab::host::lanes::Lanes;
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::Nanoseconds;

use crate::control::Control;

/// How a run is done, beside the experiment.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder for run folders.
    pub out: PathBuf,
    /// Label the result quick.
    pub quick: bool,
    /// Whether the budget is measured time only (`weigh load -d`).
    pub measured_budget: bool,
    /// Allow high rates against addresses that are neither loopback nor private.
    pub allow_remote: bool,
    /// The program and hidden verb that stand guard.
    pub guardian: (PathBuf, String),
    /// Folder of the experiment file, where services are sought first.
    pub experiment_folder: Option<PathBuf>,
    /// Where connections of URL variants go instead of their own address.
    pub connect_to: Option<(String, u16)>,
    /// For calibration only: the variant whose replies the generator holds back, and by how much.
    pub hold_back: Option<(VariantId, Nanoseconds)>,
    /// For tests only: the cores of a duet, instead of those that the machine has for one.
    pub lanes: Option<Lanes>,
    /// Folder of the calibrations of hosts, which summaries quote; `None` where there is none.
    pub calibrations: Option<PathBuf>,
    /// What the user asks meanwhile.
    pub control: Control,
}
