//! Where tests lay out networks.

use tempfile::TempDir;
use weighbridge_lab::cleanup::registry::Registry;
use weighbridge_lab::process::launch::Lab;
use weighbridge_model::experiment::{Experiment, Layers};

/// The layers of an experiment file.
pub fn layers(text: &str) -> Layers {
    let text = format!("[workload]\nname = 'pingpong'\n[[variant]]\ncommand = 'true'\nlayers = {text}\n");
    let mut experiment = Experiment::parse("layers.toml", &text).expect("an experiment");
    experiment.variants.remove(0).layers
}

/// A lab with a registry of its own.
pub struct Bench {
    pub lab: Lab,
    pub folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let name = folder.path().file_name().expect("named").to_string_lossy().replace('.', "");
        let registry = Registry::create(&folder.path().join("registry"), &name).expect("a registry");
        let lab = Lab::new(&folder.path().display().to_string(), None, Some(registry));
        Self { lab, folder }
    }
}
