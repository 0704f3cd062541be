//! Packets that are lost: the layer `loss`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::Towards;
use crate::quantity::Ratio;

/// Packets are lost at random, each independently of the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The share that is lost, above nothing and at most half.
    pub share: Ratio,
    /// Which packets are lost.
    pub towards: Towards,
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Loss, ExperimentError> {
    let share = reader.value("share", |node| match node.show().parse::<Ratio>() {
        Ok(share) if share.get() > 0.0 && share.get() <= 0.5 => Ok(share),
        Ok(share) => Err(format!("`{share}` must be above 0 % and at most 50 %")),
        Err(error) => Err(error.to_string()),
    })?;
    let Some(share) = share else {
        let message = format!("`{}`: `loss` needs its `share`, such as \"1 %\"", reader.full("share"));
        return Err(reader.error(reader.line(), message));
    };
    Ok(Loss { share, towards: Towards::read(reader)?.unwrap_or(Towards::Both) })
}

impl Loss {
    pub(super) fn write(&self, table: &mut Table) {
        table.insert("share".into(), self.share.get().to_string().into());
        table.insert("towards".into(), self.towards.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.share)
    }
}
