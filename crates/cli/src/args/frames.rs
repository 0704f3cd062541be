//! Arguments of the hidden verb `frames`.

use clap::Args;
use weighbridge_model::quantity::Nanoseconds;

/// Arguments of the packet relay. Ways are `null`, or of `delay=1ms,jitter=200us,distribution=normal,loss=1%,order=free,limit=1000`
/// what is wanted.
#[derive(Debug, Args)]
pub struct Frames {
    /// The two interfaces.
    #[arg(long, num_args = 2, required = true, value_names = ["FIRST", "SECOND"])]
    pub between: Vec<String>,
    /// What is done to frames from the first to the second.
    #[arg(long, default_value = "null", value_name = "WAY")]
    pub forth: String,
    /// What is done to frames from the second to the first.
    #[arg(long, default_value = "null", value_name = "WAY")]
    pub back: String,
    /// Seed of losses and jitter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long before a frame is due to wait awake [default: 30 µs].
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Nanoseconds>,
    /// The core to stay on.
    #[arg(long)]
    pub core: Option<u32>,
}
