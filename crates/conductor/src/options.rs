//! Options of a run that its experiment does not contain.

use std::path::PathBuf;

use weighbridge_lab::host::lanes::Lanes;
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::Nanoseconds;

use crate::control::Control;

#[derive(Debug, Clone)]
pub struct Options {
    pub out: PathBuf,
    pub quick: bool,
    /// `weigh load -d`: the budget covers measured time only.
    pub measured_budget: bool,
    /// Allow high rates against addresses that are neither loopback nor private.
    pub allow_remote: bool,
    /// Program and hidden verb of the guardian.
    pub guardian: (PathBuf, String),
    /// Folder of the experiment file, where services are searched first.
    pub experiment_folder: Option<PathBuf>,
    /// Host and port to connect to in place of those of URL variants.
    pub connect_to: Option<(String, u16)>,
    /// For calibration only: the variant whose replies the generator holds back, and for how long.
    pub hold_back: Option<(VariantId, Nanoseconds)>,
    /// For tests only: the cores of a duet, in place of those detected on the machine.
    pub lanes: Option<Lanes>,
    /// Folder of the hosts' calibrations, which summaries quote.
    pub calibrations: Option<PathBuf>,
    pub control: Control,
}
