//! Dropped packets: the layer `loss`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::Towards;
use crate::quantity::Ratio;

/// Largest share of loss; above it, hardly any connection can be made.
const MOST: f64 = 0.5;

/// Packets are dropped at random: each independently of the others, or in bursts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Share of packets lost in the long run, above 0 and at most one half.
    pub share: Ratio,
    pub towards: Towards,
    /// The law of bursts; `None` for independent losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
}

/// Loss in bursts (Gilbert 1960, Elliott 1963) with netem's parameters: the link is in a good or a bad state,
/// may change its state after each packet, and has a loss probability in each state. It begins in the good
/// state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bursts {
    /// Probability of a change from good to bad after a packet, above 0 and at most 1: netem's p.
    pub p: Ratio,
    /// Probability of a change from bad to good after a packet, above 0 and at most 1: netem's r.
    pub r: Ratio,
    /// Share lost in the bad state, above 0 and at most 1: netem's 1 − h.
    pub bad: Ratio,
    /// Share lost in the good state, from 0 to 1: netem's 1 − k.
    pub good: Ratio,
}

impl Bursts {
    /// Errors: the name of a wrong share, and why it is wrong.
    pub fn try_new(p: Ratio, r: Ratio, bad: Ratio, good: Ratio) -> Result<Self, (&'static str, String)> {
        for (name, share) in [("p", p), ("r", r), ("bad", bad)] {
            if !(share.get() > 0.0 && share.get() <= 1.0) {
                return Err((name, format!("{share} must be above 0 % and at most 100 %")));
            }
        }
        if !(0.0..=1.0).contains(&good.get()) {
            return Err(("good", format!("{good} must be from 0 % to 100 %")));
        }
        if good > bad {
            return Err(("good", format!("{good} must be at most the {bad} that a bad way loses (`bad`)")));
        }
        Ok(Self { p, r, bad, good })
    }

    /// Share lost in the long run: the link is bad for p / (p + r) of the packets.
    pub fn share(&self) -> Ratio {
        let bad = self.p.get() / (self.p.get() + self.r.get());
        Ratio::new(bad * self.bad.get() + (1.0 - bad) * self.good.get())
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Loss, ExperimentError> {
    let share = reader.value("share", |node| match node.show().parse::<Ratio>() {
        Ok(share) if share.get() > 0.0 && share.get() <= MOST => Ok(share),
        Ok(share) => Err(format!("`{share}` must be above 0 % and at most 50 %")),
        Err(error) => Err(error.to_string()),
    })?;
    let bursts = read_bursts(reader)?;
    let refused =
        |message: &str| reader.error(reader.line(), format!("`{}`: {message}", reader.full_key("share")));
    let share = match (share, &bursts) {
        (Some(share), None) => share,
        (None, Some(bursts)) if bursts.share().get() <= MOST => bursts.share(),
        (None, Some(bursts)) => {
            let message =
                format!("these bursts lose {} of all packets, which must be at most 50 %", bursts.share());
            return Err(refused(&message));
        }
        (Some(_), Some(_)) => {
            return Err(refused("what bursts lose follows from `p` and `r`; give those or `share`"));
        }
        (None, None) => {
            return Err(refused("`loss` needs its `share`, such as \"1 %\", or `p` and `r` for bursts"));
        }
    };
    Ok(Loss { share, towards: Towards::read(reader)?.unwrap_or(Towards::Both), bursts })
}

/// The keys of bursts; `None` if there are none.
fn read_bursts(reader: &Reader<'_>) -> Result<Option<Bursts>, ExperimentError> {
    let share =
        |key| reader.value(key, |node| node.show().parse::<Ratio>().map_err(|error| error.to_string()));
    let refused =
        |key, message: String| reader.error(reader.line(), format!("`{}`: {message}", reader.full_key(key)));
    let (bad, good) = (share("bad")?, share("good")?);
    match (share("p")?, share("r")?) {
        (None, None) if bad.is_none() && good.is_none() => Ok(None),
        (Some(p), Some(r)) => {
            let (bad, good) = (bad.unwrap_or(Ratio::new(1.0)), good.unwrap_or(Ratio::new(0.0)));
            Bursts::try_new(p, r, bad, good).map(Some).map_err(|(key, why)| refused(key, why))
        }
        _ => Err(refused("p", "bursts need both `p` and `r`, such as \"1 %\" and \"25 %\"".to_owned())),
    }
}

impl Loss {
    pub(super) fn write(&self, table: &mut Table) {
        let mut put = |key: &str, share: Ratio| table.insert(key.into(), share.get().to_string().into());
        match &self.bursts {
            None => drop(put("share", self.share)),
            Some(Bursts { p, r, bad, good }) => {
                for (key, share) in [("p", p), ("r", r), ("bad", bad), ("good", good)] {
                    put(key, *share);
                }
            }
        }
        table.insert("towards".into(), self.towards.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bursts {
            None => write!(f, " {}", self.share),
            Some(Bursts { p, r, .. }) => write!(f, " {} in bursts {p}/{r}", self.share),
        }
    }
}
