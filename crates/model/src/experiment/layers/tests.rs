//! Layers read from files: names, tables, settings; what goes together, and what is said of what does not.

use super::super::Experiment;
use super::*;
use crate::quantity::{BitsPerSecond, Bytes, Nanoseconds, Ratio};

fn parse(layers: &str) -> Result<Layers, String> {
    let text = format!("[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'go'\nlayers = {layers}\n");
    let experiment = Experiment::parse("x.toml", &text).map_err(|error| error.to_string())?;
    let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
    assert_eq!(again, experiment);
    let layers = experiment.variants[0].layers.clone();
    let json = serde_json::to_string(&layers).expect("plain data");
    assert_eq!(serde_json::from_str::<Layers>(&json).expect("our own"), layers);
    Ok(layers)
}

#[test]
fn a_layer_is_a_name_or_a_table() {
    assert_eq!(parse("[]"), Ok(Layers::default()));
    let veth = Layer::Veth(Veth::default());
    assert_eq!(parse("['veth']"), Ok(Layers(vec![veth.clone()])));
    assert_eq!(parse("[{ layer = 'veth' }]"), Ok(Layers(vec![veth.clone()])));
    let rate = Rate {
        rate: BitsPerSecond::new(100_000_000),
        burst: Bytes::new(32_000),
        queue: Nanoseconds::from_millis(50),
    };
    let vxlan = Layer::Vxlan(Vxlan::default());
    let stack = parse("['veth', { layer = 'rate', rate = '100 Mbit/s' }, 'vxlan']").expect("right");
    assert_eq!(stack, Layers(vec![veth, Layer::Rate(rate.clone()), vxlan]));
    assert_eq!(stack.to_string(), "veth + rate 100 Mbit/s + vxlan");
    assert_eq!(rate.period(), Nanoseconds::from_micros(2_560));
}

#[test]
fn settings_are_kept() {
    let jumbo = parse("[{ layer = 'veth', mtu = 9000, congestion_control = 'reno' }]").expect("right");
    let veth = jumbo.veth().expect("there");
    assert_eq!(
        (veth.mtu.get(), veth.congestion_control.as_ref().map(CongestionControl::name)),
        (9000, Some("reno"))
    );
    let stack = parse(
        "['veth', 'relay', { layer = 'delay', time = '1 ms', jitter = '200 µs' }, \
         { layer = 'loss', share = '1 %', towards = 'client' }, { layer = 'vxlan', layout = 'flannel' }]",
    )
    .expect("right");
    let delay = Delay {
        time: Nanoseconds::from_millis(1),
        jitter: Nanoseconds::from_micros(200),
        towards: Towards::Server,
    };
    let loss = Loss { share: Ratio::new(0.01), towards: Towards::Client, bursts: None };
    let parts: Vec<_> = stack.iter().skip(1).cloned().collect();
    let flannel = Layer::Vxlan(Vxlan { layout: VxlanLayout::Flannel });
    assert_eq!(parts, [Layer::Relay(Relay), Layer::Delay(delay), Layer::Loss(loss), flannel]);
    assert_eq!(stack.to_string(), "veth + relay + delay 1.00 ms ± 200 µs + loss 1 % + vxlan as flannel");
    assert!(stack.has_hosts() && stack.has_relay());
}

#[test]
fn loss_may_come_in_bursts_whose_share_follows() {
    let stack = parse("['veth', { layer = 'loss', p = '1 %', r = '24 %' }]").expect("right");
    let share = |share| Ratio::new(share);
    let bursts = Bursts { p: share(0.01), r: share(0.24), bad: share(1.0), good: share(0.0) };
    let loss = Loss { share: share(0.01 / 0.25), towards: Towards::Both, bursts: Some(bursts) };
    assert_eq!(stack.iter().last(), Some(&Layer::Loss(loss)));
    let all = parse(
        "['veth', { layer = 'loss', p = '2 %', r = '6 %', bad = '50 %', good = '1 %', towards = 'server' }]",
    );
    let all = all.expect("right");
    let Some(Layer::Loss(loss)) = all.iter().last() else { panic!("{all}") };
    assert!((loss.share.get() - (0.25 * 0.5 + 0.75 * 0.01)).abs() < 1e-12, "{loss:?}");
    // Records from before have none.
    let stored =
        "[{\"layer\":\"veth\",\"mtu\":1500},{\"layer\":\"loss\",\"share\":0.1,\"towards\":\"both\"}]";
    assert!(serde_json::from_str::<Layers>(stored).is_ok());
}

#[test]
fn switches_have_a_tunnel_or_none_and_may_stand_on_another_overlay() {
    let tunnels = [None, Some(OvsTunnel::Vxlan), Some(OvsTunnel::Geneve), Some(OvsTunnel::Gre)];
    for (tunnel, name) in tunnels.into_iter().zip(["ovs", "ovs-vxlan", "ovs-geneve", "ovs-gre"]) {
        let stack = parse(&format!("['veth', '{name}']")).expect("right");
        assert_eq!(stack.iter().last(), Some(&Layer::Ovs(Ovs { tunnel })));
        assert_eq!(stack.to_string(), format!("veth + {name}"));
    }
    for stack in ["['veth', 'vxlan', 'ovs-geneve']", "['veth', 'ovs-geneve', 'vxlan']"] {
        parse(stack).expect("overlays of different kinds");
    }
}

#[test]
fn a_tunnel_names_what_encrypts_or_leaves_it_to_the_host() {
    let tunnel = |implementation| Layer::Wireguard(Wireguard { implementation });
    for (text, implementation, shown) in [
        ("'wireguard'", None, "veth + wireguard"),
        (
            "{ layer = 'wireguard', implementation = 'kernel' }",
            Some(WireguardImplementation::Kernel),
            "veth + wireguard by the kernel",
        ),
        (
            "{ layer = 'wireguard', implementation = 'wireguard-go' }",
            Some(WireguardImplementation::WireguardGo),
            "veth + wireguard by wireguard-go",
        ),
        (
            "{ layer = 'wireguard', implementation = 'boringtun' }",
            Some(WireguardImplementation::Boringtun),
            "veth + wireguard by boringtun",
        ),
    ] {
        let stack = parse(&format!("['veth', {text}]")).expect("right");
        assert_eq!(stack.iter().last(), Some(&tunnel(implementation)));
        assert_eq!(stack.to_string(), shown);
        let written = serde_json::to_string(&stack).expect("JSON");
        assert_eq!(serde_json::from_str::<Layers>(&written).expect("the same"), stack);
    }
    for stack in [
        "['veth', 'vxlan', 'wireguard']",
        "['veth', 'wireguard', 'vxlan']",
        "['veth', 'ovs-geneve', 'wireguard', 'sidecar:haproxy', 'container']",
        "['veth', { layer = 'rate', rate = '1 Gbit/s' }, 'wireguard']",
    ] {
        parse(stack).expect("an overlay like others");
    }
}

#[test]
fn sidecars_and_containers_have_sides_modes_and_runtimes() {
    let haproxy = |side, mode| Layer::Sidecar(Sidecar { program: SidecarProgram::Haproxy, side, mode });
    assert_eq!(
        parse("['sidecar:haproxy', 'container']"),
        Ok(Layers(vec![
            haproxy(SidecarSide::Server, SidecarMode::Http),
            Layer::Container(Container::default())
        ]))
    );
    let stack = parse(
        "[{ layer = 'sidecar:haproxy', side = 'client', mode = 'tcp' }, 'sidecar:nginx', \
         { layer = 'container', runtime = 'crun', network = 'published', read_only = false, seccomp = 'unconfined' }]",
    )
    .expect("right");
    assert_eq!(stack.iter().next(), Some(&haproxy(SidecarSide::Client, SidecarMode::Tcp)));
    assert_eq!(
        stack.to_string(),
        "sidecar:haproxy at the client tcp + sidecar:nginx + container crun published writable unconfined"
    );
    let both = parse("[{ layer = 'sidecar:envoy', side = 'both' }]").expect("right");
    assert_eq!(both.to_string(), "sidecar:envoy on both sides");
    for (text, shown) in [
        ("engine = 'podman'", "container podman"),
        ("engine = 'docker', runtime = 'crun', network = 'published'", "container docker crun published"),
        ("network = 'published', publish = 'pasta'", "container published by pasta"),
    ] {
        let stack = parse(&format!("['veth', {{ layer = 'container', {text} }}]")).expect(text);
        assert_eq!(stack.to_string(), format!("veth + {shown}"));
    }
}

#[test]
fn a_container_has_the_network_that_is_there() {
    let network_and_layers = |text: &str| {
        let stack = parse(text).expect(text);
        let Some(Layer::Container(container)) = stack.iter().last() else { panic!("{stack}") };
        (container.network, stack.to_string())
    };
    for text in ["['container']", "[{ layer = 'container', network = 'host' }]"] {
        assert_eq!(network_and_layers(text), (ContainerNetwork::Host, "container".to_owned()));
    }
    for text in ["['veth', 'container']", "['veth', { layer = 'container', network = 'layer' }]"] {
        assert_eq!(network_and_layers(text), (ContainerNetwork::Layer, "veth + container".to_owned()));
    }
    for (text, said) in [
        (
            "['veth', { layer = 'container', network = 'host' }]",
            "would not be on the hosts that `veth` makes",
        ),
        ("[{ layer = 'container', network = 'layer' }]", "write `veth` before it"),
        ("['sidecar:nginx', { layer = 'container', network = 'layer' }]", "write `veth` before it"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.starts_with("x.toml:5: ") && error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_sidecar_must_understand_what_passes() {
    let error = |variant: &str| {
        let text = format!("[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'go'\n{variant}\n");
        Experiment::parse("x.toml", &text).map(drop).expect_err(variant).to_string()
    };
    let tls = error("tls = true\nlayers = ['sidecar:haproxy']");
    assert!(tls.contains("encrypted from end to end") && tls.contains("mode = \"tcp\""), "{tls}");
    let h2 = error("protocol = 'http2-json'\nlayers = ['sidecar:nginx']");
    assert!(h2.contains("for gRPC alone"), "{h2}");
    let peer = error("peer = 'go'\nlayers = [{ layer = 'container', network = 'published' }]");
    assert!(peer.contains("does not reach it"), "{peer}");
    let engine = error("layers = [{ layer = 'container', engine = 'docker', network = 'published' }]");
    assert!(engine.contains("write `veth` before it"), "{engine}");
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_is_allowed() {
    for (layers, said) in [
        ("'veth'", "must be a list"),
        ("['vet']", "did you mean `veth`?"),
        ("['carrier-pigeon']", "is no layer; allowed: `veth`"),
        ("['veth:x']", "write `veth`"),
        ("[{ mtu = 9000 }]", "does not say which `layer`"),
        ("[7]", "`7` is no layer; write a name such as \"veth\""),
        ("['veth', []]", "is no layer; write a name such as"),
        ("['VETH']", "did you mean `veth`?"),
        ("['haproxy']", "`sidecar:haproxy`, `sidecar:nginx`, `sidecar:envoy`"),
        ("[{ layer = 'veth', mtu = 100 }]", "from 576 to 65535"),
        ("[{ layer = 'veth', mtu = '9000' }]", "from 576 to 65535"),
        ("[{ layer = 'veth', congestion_control = 'Cubic!' }]", "such as `cubic`"),
        ("[{ layer = 'veth', speed = 1 }]", "unknown key `speed`"),
        ("['relay']", "needs two hosts"),
        ("['veth', 'rate']", "`rate` needs its `rate`"),
        ("['veth', { layer = 'rate', rate = '1 B' }]", "a bit rate such as"),
        ("['veth', { layer = 'rate', rate = '1 bit/s' }]", "from 8 kbit/s"),
        ("['veth', { layer = 'rate', rate = '1 Mbit/s', burst = '100 B' }]", "one frame"),
        ("['veth', 'delay']", "`delay` needs its `time`"),
        ("['veth', { layer = 'delay', time = '1 ms', jitter = '2 ms' }]", "jitter`: 2.00 ms is more"),
        ("['veth', { layer = 'delay', time = '2 min' }]", "at most 60.0 s"),
        ("['veth', { layer = 'delay', time = '1 ms', towards = 'moon' }]", "allowed: `server`"),
        ("['veth', { layer = 'loss', share = '60 %' }]", "at most 50 %"),
        ("['veth', 'loss']", "`loss` needs its `share`"),
        ("['veth', { layer = 'loss', p = '1 %' }]", "bursts need both `p` and `r`"),
        ("['veth', { layer = 'loss', p = '1 %', r = '0 %' }]", "`variant.layers.r`: 0 % must be above 0 %"),
        ("['veth', { layer = 'loss', p = '1 %', r = '9 %', share = '1 %' }]", "follows from `p` and `r`"),
        ("['veth', { layer = 'loss', p = '60 %', r = '40 %' }]", "these bursts lose 60 %"),
        ("['veth', { layer = 'loss', p = '1 %', r = '9 %', good = '101 %' }]", "from 0 % to 100 %"),
        (
            "['veth', { layer = 'loss', p = '1 %', r = '9 %', bad = '2 %', good = '3 %' }]",
            "good`: 3 % must be at most the 2 %",
        ),
        ("['veth', { layer = 'rate', rate = '1 Mbit/s', queue = '0 ms' }]", "queue`"),
        ("['veth', { layer = 'ovs', tunnel = 'geneve' }]", "unknown key `tunnel`"),
        ("['veth', 'ovs-geneva']", "did you mean `ovs-geneve`?"),
        ("['veth', { layer = 'rate', rate = '100 Gbit/s', queue = '1 s' }]", "more than 4 GiB"),
        ("['veth', { layer = 'vxlan', layout = 'calico' }]", "allowed: `direct`"),
        ("['veth', { layer = 'wireguard', implementation = 'openvpn' }]", "allowed: `kernel`"),
        ("['veth', { layer = 'wireguard', mtu = 1420 }]", "unknown key `mtu`"),
        ("['veth', 'wiregard']", "did you mean `wireguard`?"),
        ("['sidecar']", "allowed of this kind: `sidecar:haproxy`"),
        ("['sidecar:squid']", "`sidecar:squid` is no layer"),
        ("[{ layer = 'sidecar:nginx', side = 'left' }]", "allowed: `client`"),
        ("[{ layer = 'sidecar:nginx', mode = 'tcp' }]", "a module that counts nothing"),
        ("[{ layer = 'container', runtime = 'kata' }]", "allowed: `runc`"),
        ("[{ layer = 'container', network = 'macvlan' }]", "allowed: `host`"),
        ("[{ layer = 'container', engine = 'lxc' }]", "allowed: `docker`"),
        ("[{ layer = 'container', publish = 'pasta' }]", "write `network = \"published\"`"),
        (
            "[{ layer = 'container', engine = 'podman', network = 'published', publish = 'pasta' }]",
            "podman publishes ports itself",
        ),
        ("[{ layer = 'container', read_only = 'no' }]", "read_only"),
    ] {
        let error = parse(layers).expect_err(layers);
        assert!(error.starts_with("x.toml:5: ") && error.contains(said), "{layers}: {error}");
    }
}

#[test]
fn layers_that_make_no_sense_together_are_refused_with_the_reason() {
    for (layers, said) in [
        ("['veth', 'veth']", "`veth` stands there twice"),
        ("['vxlan']", "`vxlan` needs two hosts"),
        ("['relay', 'veth']", "`relay` needs two hosts"),
        (
            "[{ layer = 'veth', mtu = 9000 }, { layer = 'rate', rate = '1 Mbit/s', burst = '9 kB' }]",
            "which has 9014 B",
        ),
        ("['veth', 'vxlan', { layer = 'rate', rate = '1 Mbit/s' }]", "write `rate` before `vxlan`"),
        ("['ovs']", "`ovs` needs two hosts"),
        ("['veth', 'ovs-gre', 'relay']", "write `relay` before `ovs-gre`"),
        ("['veth', 'ovs', 'ovs-geneve']", "`ovs` makes it already"),
        ("['veth', { layer = 'vxlan', layout = 'flannel' }, 'ovs-vxlan']", "one for each host"),
        ("['wireguard']", "`wireguard` needs two hosts"),
        ("['veth', 'wireguard', 'wireguard']", "`wireguard` stands there twice"),
        (
            "['veth', { layer = 'delay', time = '4 s', jitter = '1 s' }, 'wireguard']",
            "within 5.00 s, and a round trip may take 5.00 s",
        ),
        (
            "['veth', { layer = 'delay', time = '2500 ms', towards = 'both' }, 'wireguard']",
            "within 5.00 s, and a round trip may take 5.00 s",
        ),
        (
            "['veth', { layer = 'delay', time = '1 ms', towards = 'both' }, { layer = 'delay', time = '2 ms' }]",
            "`delay` stands there twice",
        ),
        (
            "['veth', { layer = 'loss', share = '1 %' }, { layer = 'loss', share = '2 %' }]",
            "`loss` stands there twice",
        ),
        (
            "['sidecar:nginx', { layer = 'sidecar:nginx', side = 'both' }]",
            "`sidecar:nginx` stands there twice",
        ),
        ("['veth', 'wireguard', { layer = 'rate', rate = '1 Mbit/s' }]", "write `rate` before `wireguard`"),
        ("['veth', 'wireguard', 'ovs']", "joins devices of Ethernet"),
        ("['veth', 'wireguard', 'vxlan', 'ovs-gre']", "joins devices of Ethernet"),
        ("['container', 'sidecar:haproxy']", "write `sidecar:haproxy` before `container`"),
        ("['sidecar:haproxy', 'sidecar:nginx']", "stand on the same side"),
        ("['sidecar:haproxy', 'veth']", "write `veth` before `sidecar:haproxy`"),
    ] {
        let error = parse(layers).expect_err(layers);
        assert!(error.starts_with("x.toml:5: ") && error.contains(said), "{layers}: {error}");
    }
    let stored = "[{\"layer\":\"vxlan\",\"layout\":\"direct\"}]";
    assert!(serde_json::from_str::<Layers>(stored).is_err());
}

#[test]
fn one_kind_may_stand_on_either_side_and_work_on_either_direction() {
    for text in [
        "[{ layer = 'sidecar:haproxy', side = 'client', mode = 'tcp' }, 'sidecar:haproxy']",
        "['veth', { layer = 'delay', time = '1 ms' }, { layer = 'delay', time = '2 ms', towards = 'client' }]",
        "['veth', { layer = 'loss', share = '1 %', towards = 'server' }, \
         { layer = 'loss', p = '1 %', r = '50 %', towards = 'client' }]",
        "['veth', { layer = 'delay', time = '4 s' }, 'wireguard']",
    ] {
        parse(text).expect(text);
    }
}

#[test]
fn what_is_not_started_here_has_no_layers() {
    let error = |variant: &str| {
        let text = format!("[workload]\nname = 'pingpong'\n[[variant]]\nlayers = ['veth']\n{variant}\n");
        Experiment::parse("x.toml", &text).expect_err(variant).to_string()
    };
    assert!(error("url = 'http://h'").contains("`layers` beside `url`"));
    assert!(error("service = 'go'\nprotocol = 'direct'").contains("beside protocol `direct`"));
}

#[test]
fn a_matrix_names_its_variants_after_their_layers() {
    let text = "[workload]\nname = 'pingpong'\n[matrix]\nservice = ['go']\n\
        layers = [[], ['veth'], ['veth', { layer = 'rate', rate = '1 Gbit/s' }, 'vxlan']]\n";
    let experiment = Experiment::parse("x.toml", text).expect("right");
    let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["go/bare", "go/veth", "go/veth+rate 1 Gbit/s+vxlan"]);
}
