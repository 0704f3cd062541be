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
    let loss = Loss { share: Ratio::new(0.01), towards: Towards::Client };
    let parts: Vec<_> = stack.iter().skip(1).cloned().collect();
    let flannel = Layer::Vxlan(Vxlan { layout: VxlanLayout::Flannel });
    assert_eq!(parts, [Layer::Relay(Relay), Layer::Delay(delay), Layer::Loss(loss), flannel]);
    assert_eq!(stack.to_string(), "veth + relay + delay 1.00 ms ± 200 µs + loss 1 % + vxlan as flannel");
    assert!(stack.has_hosts() && stack.has_relay());
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
    let layer = parse("[{ layer = 'container', network = 'layer' }]").expect("right");
    assert_eq!(layer, Layers(vec![Layer::Container(Container::default())]));
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
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_is_allowed() {
    for (layers, said) in [
        ("'veth'", "must be a list"),
        ("['vet']", "did you mean `veth`?"),
        ("['carrier-pigeon']", "is no layer; allowed: `veth`"),
        ("['veth:x']", "write `veth`"),
        ("[{ mtu = 9000 }]", "does not say which `layer`"),
        ("[7]", "must be a table"),
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
        ("['veth', { layer = 'delay', time = '1 ms', jitter = '2 ms' }]", "no packet can be sent"),
        ("['veth', { layer = 'delay', time = '2 min' }]", "at most 60.0 s"),
        ("['veth', { layer = 'delay', time = '1 ms', towards = 'moon' }]", "allowed: `server`"),
        ("['veth', { layer = 'loss', share = '60 %' }]", "at most 50 %"),
        ("['veth', 'loss']", "`loss` needs its `share`"),
        ("['veth', { layer = 'vxlan', layout = 'calico' }]", "allowed: `direct`"),
        ("['sidecar']", "allowed of this kind: `sidecar:haproxy`"),
        ("['sidecar:squid']", "`sidecar:squid` is no layer"),
        ("[{ layer = 'sidecar:nginx', side = 'left' }]", "allowed: `client`"),
        ("[{ layer = 'sidecar:nginx', mode = 'tcp' }]", "a module that counts nothing"),
        ("[{ layer = 'container', runtime = 'kata' }]", "allowed: `runc`"),
        ("[{ layer = 'container', network = 'macvlan' }]", "allowed: `host`"),
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
