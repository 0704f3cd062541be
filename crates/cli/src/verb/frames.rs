//! The hidden verb of the packet relay, which the lab starts in a switch: see
//! `weighbridge_lab::layers::frames`.

use std::fs::File;
use std::os::fd::AsFd;

use anyhow::Context;
use weighbridge_lab::host::cores::CoreId;
use weighbridge_lab::layers::frames::{self, DEFAULT_SPIN, Impairment, InterfacePair, Settings, Watch};

use crate::args;
use crate::exit::Exit;

/// Carries frames until SIGTERM, Ctrl-C, or the end of its input.
pub fn run(arguments: &args::Frames) -> anyhow::Result<Exit> {
    let impairment =
        |flag: &str, text: &str| text.parse::<Impairment>().with_context(|| format!("`{flag}` is no way"));
    let [first, second] = arguments.between.as_slice() else {
        anyhow::bail!("`--between` takes two interfaces")
    };
    let settings = Settings {
        between: InterfacePair::try_new(first.clone(), second.clone())?,
        forward: impairment("--forth", &arguments.forth)?,
        reverse: impairment("--back", &arguments.back)?,
        seed: arguments.seed,
        spin: arguments.spin.unwrap_or(DEFAULT_SPIN),
        core: arguments.core.map(CoreId::new),
    };
    let signals = Some(frames::watch_signals().context("could not watch for signals")?);
    let orders = std::io::stdin().as_fd().try_clone_to_owned().context("could not keep the input")?;
    let watch = Watch { orders: File::from(orders), signals };
    frames::run(&settings, watch, &mut std::io::stdout().lock())?;
    Ok(Exit::Fine)
}
