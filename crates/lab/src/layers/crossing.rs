//! What carries frames across the switch: the kernel's bridge, with netem at its ports if packets are delayed
//! or lost, or our packet relay.
//!
//! The variant's layers and the kernel decide which one it is.

use weighbridge_model::experiment::{Bursts, Delay, Layer, Layers, Loss, Towards};
use weighbridge_model::network::LinkCounters;
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::relayed::Relayed;

use super::carrier::Carrier;
use super::site::run_on;
use super::veth::{CAPABILITIES, CLIENT_PORT, DEVICE, SERVER_PORT, WITH_RAW, try_here};
use super::{Answered, Hosts, LayerError, Part, Site};
use crate::net::tools::{Tool, need};
use crate::net::{Batch, Capability};
use crate::process::launch::Lab;
use crate::service::Freezing;
use crate::unavailable::Unavailable;

/// netem's limit of waiting packets: a minute of more than a thousand per second.
const NETEM_QUEUE: u32 = 100_000;
/// The switch's bridge.
const BRIDGE: &str = "bridge0";

/// The three ways across the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crossing {
    /// The kernel's bridge alone.
    Bridge,
    /// The kernel's bridge with netem at its ports.
    Netem,
    /// Our packet relay.
    Relay,
}

/// What is done to packets in either direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Treatment {
    pub to_server: DelayAndLoss,
    pub to_client: DelayAndLoss,
}

/// What is done to packets of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DelayAndLoss {
    pub delay: Option<Delay>,
    pub loss: Option<Loss>,
}

impl Treatment {
    pub fn from_layers(layers: &Layers) -> Self {
        let mut found = Self::default();
        for layer in layers.iter() {
            match layer {
                Layer::Delay(delay) => found.each(delay.towards, |packets| packets.delay = Some(*delay)),
                Layer::Loss(loss) => found.each(loss.towards, |packets| packets.loss = Some(*loss)),
                _ => {}
            }
        }
        found
    }

    fn each(&mut self, towards: Towards, change: impl Fn(&mut DelayAndLoss)) {
        if towards.is_to_server() {
            change(&mut self.to_server);
        }
        if towards.is_to_client() {
            change(&mut self.to_client);
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The netem parameters for packets that leave by a port; `None` if nothing is done to them.
    fn at(&self, port: &str) -> Option<String> {
        let DelayAndLoss { delay, loss } = if port == SERVER_PORT { self.to_server } else { self.to_client };
        let micros = |time: Nanoseconds| format!("{}us", time.as_nanos() as f64 / 1e3);
        let delay = delay.map(|delay| {
            let jitter = (delay.jitter > Nanoseconds::ZERO).then(|| format!(" {}", micros(delay.jitter)));
            format!(" delay {}{}", micros(delay.time), jitter.unwrap_or_default())
        });
        let percent = |share: Ratio| format!(" {}%", share.get() * 100.0);
        let loss = loss.map(|loss| match loss.bursts {
            None => format!(" loss random{}", percent(loss.share)),
            Some(Bursts { p, r, bad, good }) => {
                format!(" loss gemodel{}{}{}{}", percent(p), percent(r), percent(bad), percent(good))
            }
        });
        let all = delay.unwrap_or_default() + &loss.unwrap_or_default();
        // Its queue must hold all packets in transit, or it would lose more than intended.
        (!all.is_empty()).then(|| format!("netem limit {NETEM_QUEUE}{all}"))
    }
}

impl Crossing {
    pub fn choose(layers: &Layers) -> Self {
        match Treatment::from_layers(layers) {
            _ if layers.has_relay() => Self::Relay,
            treatment if treatment.is_none() => Self::Bridge,
            _ if has_netem().is_ok() => Self::Netem,
            _ => Self::Relay,
        }
    }

    /// Joins the two ports by the kernel's bridge, with netem where needed, unless a relay does.
    pub fn install(self, treatment: &Treatment, site: &mut Site) -> Result<(), LayerError> {
        let Some(hosts) = site.hosts().filter(|_| self != Self::Relay) else { return Ok(()) };
        run_on(&hosts.switch, &bridge())?;
        if self == Self::Bridge {
            return Ok(());
        }
        cut_packets(hosts)?;
        let queue = |port| Some(format!("qdisc add dev {port} root handle 1: {}", treatment.at(port)?));
        let queues = [CLIENT_PORT, SERVER_PORT].into_iter().filter_map(queue);
        run_on(&hosts.switch, &queues.fold(Batch::new(Tool::Tc), Batch::with))
    }

    /// The place of a further queue at a port, in `tc`'s terms: below netem if the port has it.
    pub fn place_of_queue(self, treatment: &Treatment, port: &str) -> &'static str {
        match self == Self::Netem && treatment.at(port).is_some() {
            true => "parent 1:1 handle 10:",
            false => "root",
        }
    }
}

/// Makes both hosts send each packet separately. Segmentation offload would make one frame of forty packets,
/// which would be delayed or lost together.
pub(super) fn cut_packets(hosts: &Hosts) -> Result<(), LayerError> {
    let alone = Batch::new(Tool::Ip).with(format!("link set {DEVICE} gso_max_segs 1"));
    [&hosts.client, &hosts.server].into_iter().try_for_each(|host| run_on(host, &alone))
}

/// The bridge's ports need not learn anything repeatedly: no spanning tree, no multicast queries.
fn bridge() -> Batch {
    let made = format!("link add {BRIDGE} type bridge stp_state 0 mcast_snooping 0");
    let port = |port: &str| format!("link set {port} master {BRIDGE}");
    let up = format!("link set {BRIDGE} up");
    Batch::new(Tool::Ip).with(made).with(port(CLIENT_PORT)).with(port(SERVER_PORT)).with(up)
}

/// Whether the kernel has netem.
pub(super) fn has_netem() -> Result<(), Unavailable> {
    need(&CAPABILITIES)?;
    try_here("netem queues", || {
        Batch::new(Tool::Ip).with("link add wb0 type veth peer name wb1").run()?;
        Batch::new(Tool::Tc).with("qdisc add dev wb0 root netem delay 1ms").run()
    })
}

/// The layers `relay`, `delay` and `loss`.
#[derive(Debug)]
pub(super) struct CrossingPart {
    crossing: Crossing,
    /// The relay, only in the first of these layers' parts, since one relay does the work of all.
    carrier: Option<Carrier>,
}

impl CrossingPart {
    /// The part of one of `layers`.
    pub fn new(layer: &Layer, layers: &Layers) -> Self {
        let crossing = Crossing::choose(layers);
        let ours = |layer: &&Layer| matches!(layer, Layer::Relay(_) | Layer::Delay(_) | Layer::Loss(_));
        let is_first = layers.iter().find(ours) == Some(layer);
        let carrier =
            (crossing == Crossing::Relay && is_first).then(|| Carrier::new(Treatment::from_layers(layers)));
        Self { crossing, carrier }
    }
}

impl Part for CrossingPart {
    fn by(&self) -> String {
        match self.crossing {
            Crossing::Bridge => "bridge".to_owned(),
            Crossing::Netem => "netem".to_owned(),
            Crossing::Relay => "relay".to_owned(),
        }
    }

    fn needs(&self) -> &'static [Capability] {
        match self.crossing {
            Crossing::Bridge | Crossing::Netem => &CAPABILITIES,
            Crossing::Relay => &WITH_RAW,
        }
    }

    fn freezing(&self) -> Freezing {
        Freezing::Unsafe
    }

    fn probe(&self) -> Result<(), Unavailable> {
        match self.crossing {
            Crossing::Bridge | Crossing::Netem => Ok(()),
            Crossing::Relay => Carrier::probe(),
        }
    }

    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        self.carrier.as_ref().map_or(Ok(()), |carrier| carrier.start(lab, site))
    }

    fn prove(&self, _passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        self.carrier.as_ref().map_or(Ok(()), |carrier| carrier.prove(answered.requests))
    }

    fn relayed(&self) -> Option<Relayed> {
        self.carrier.as_ref()?.ask()
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Veth;

    use super::*;

    #[test]
    fn netem_is_at_the_port_by_which_packets_leave() {
        let delay = Delay {
            time: Nanoseconds::from_millis(1),
            jitter: Nanoseconds::from_micros(200),
            towards: Towards::Server,
        };
        let loss = Loss { share: Ratio::new(0.01), towards: Towards::Both, bursts: None };
        let treatment = |layers: Vec<Layer>| {
            let hosts = Layer::Veth(Veth::default());
            let all = std::iter::once(hosts).chain(layers).collect();
            Treatment::from_layers(&Layers::new(all).expect("they make sense"))
        };
        let both = treatment(vec![Layer::Delay(delay), Layer::Loss(loss)]);
        assert_eq!(
            both.at(SERVER_PORT).as_deref(),
            Some("netem limit 100000 delay 1000us 200us loss random 1%")
        );
        assert_eq!(both.at(CLIENT_PORT).as_deref(), Some("netem limit 100000 loss random 1%"));
        let share = |share| Ratio::new(share);
        let bursts = Bursts { p: share(0.25), r: share(0.5), bad: share(1.0), good: share(0.0) };
        let bursts = treatment(vec![Layer::Loss(Loss { bursts: Some(bursts), ..loss })]);
        assert_eq!(
            bursts.at(CLIENT_PORT).as_deref(),
            Some("netem limit 100000 loss gemodel 25% 50% 100% 0%")
        );
        let plain = Delay { jitter: Nanoseconds::ZERO, ..delay };
        let back = Delay { time: Nanoseconds::from_millis(2), towards: Towards::Client, ..plain };
        let apart = treatment(vec![Layer::Delay(plain), Layer::Delay(back)]);
        assert_eq!(apart.at(SERVER_PORT).as_deref(), Some("netem limit 100000 delay 1000us"));
        assert_eq!(apart.at(CLIENT_PORT).as_deref(), Some("netem limit 100000 delay 2000us"));
        let plain = treatment(vec![Layer::Delay(plain)]);
        assert_eq!(plain.at(CLIENT_PORT), None);
        assert_eq!(Crossing::Netem.place_of_queue(&plain, SERVER_PORT), "parent 1:1 handle 10:");
        assert_eq!(Crossing::Netem.place_of_queue(&plain, CLIENT_PORT), "root");
        assert_eq!(Crossing::Bridge.place_of_queue(&plain, SERVER_PORT), "root");
    }
}
