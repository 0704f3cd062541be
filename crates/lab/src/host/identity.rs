//! The identity of this host: the facts that make results of another host incomparable, as a key, and those
//! that may change on the same host.
//!
//! The boot is not in the key: a rebooted machine is the same host. The host's name is not either, since
//! containers get a new one each time; callers that need the very same machine also compare the name.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use weighbridge_model::environment::{HostFacts, Hypervisor, KernelSettings, Switch};
use weighbridge_model::hex;
use weighbridge_model::reliability::HostIdentity;

use crate::host::cores::{CoreId, core_list};

/// The identity of the host with these facts. `weigh` is the digest of this program, if known.
pub fn identity(facts: &HostFacts, weigh: Option<&str>) -> HostIdentity {
    let lasting = lasting(facts);
    HostIdentity { key: key(&lasting), lasting, passing: passing(facts, weigh) }
}

/// The key of lasting facts: the first 16 hexadecimal digits of the SHA-256 of `name=value` lines, by name.
fn key(lasting: &BTreeMap<String, String>) -> String {
    let text: String = lasting.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

fn named<const N: usize>(facts: [(&str, Option<String>); N]) -> BTreeMap<String, String> {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn lasting(facts: &HostFacts) -> BTreeMap<String, String> {
    named([
        ("processor", facts.processor.clone()),
        ("architecture", facts.architecture.clone()),
        ("cores", facts.cores.as_deref().map(core_list)),
        (
            "SMT siblings",
            facts
                .siblings
                .as_ref()
                .map(|groups| groups.iter().map(|group| core_list(group)).collect::<Vec<_>>().join(" ")),
        ),
        ("kernel", facts.kernel.clone()),
        ("mitigations", mitigations(&facts.settings)),
        (
            "hypervisor",
            facts.hypervisor.map(|found| match found {
                Hypervisor::Present => "present".to_owned(),
                Hypervisor::Absent => "absent".to_owned(),
            }),
        ),
    ])
}

fn passing(facts: &HostFacts, weigh: Option<&str>) -> BTreeMap<String, String> {
    named([
        ("boot", facts.boot_id.clone()),
        ("name", facts.hostname_sha256.clone()),
        ("governor", facts.frequency.as_ref().map(|frequency| frequency.governors.join(" "))),
        ("boost", facts.frequency.as_ref().and_then(|frequency| frequency.boost).map(word_of_switch)),
        ("huge pages", facts.settings.huge_pages.as_ref().map(|pages| pages.enabled.clone())),
        ("address layout", facts.settings.address_layout.map(|layout| layout.word().to_owned())),
        (
            "packet steering",
            facts.settings.packet_steering.as_ref().map(|steering| cores_or_none(&steering.loopback)),
        ),
        ("clock source", facts.clock_source.clone()),
        ("memory", facts.memory.map(|memory| memory.to_string())),
        ("congestion control", facts.congestion_control.clone()),
        ("weigh", weigh.map(|digest| digest.chars().take(16).collect())),
    ])
}

/// The mitigation of each vulnerability; `None` if the kernel reports none at all.
fn mitigations(settings: &KernelSettings) -> Option<String> {
    let known: Vec<String> =
        settings.mitigations.iter().map(|(weakness, done)| format!("{weakness}: {done}")).collect();
    (!known.is_empty()).then(|| known.join("; "))
}

fn word_of_switch(switch: Switch) -> String {
    switch.word().to_owned()
}

fn cores_or_none(cores: &[CoreId]) -> String {
    if cores.is_empty() { "none".to_owned() } else { core_list(cores) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::environment::PacketSteering;

    use crate::host::facts;

    fn facts() -> HostFacts {
        HostFacts {
            processor: Some("Some CPU @ 3 GHz".to_owned()),
            cores: Some(vec![CoreId::new(0), CoreId::new(1)]),
            kernel: Some("Linux 6.1".to_owned()),
            hypervisor: Some(Hypervisor::Present),
            boot_id: Some("a".to_owned()),
            hostname_sha256: Some("b".to_owned()),
            ..HostFacts::default()
        }
    }

    #[test]
    fn the_key_is_that_of_the_lasting_facts() {
        let found = identity(&facts(), Some("0123456789abcdef0123"));
        // printf 'cores=0-1\nhypervisor=present\nkernel=Linux 6.1\nprocessor=Some CPU @ 3 GHz\n' | sha256sum
        assert_eq!(found.key, "1e9f2a12ce1e1ff3");
        assert_eq!(found.passing["weigh"], "0123456789abcdef");
        let again = identity(&HostFacts { boot_id: Some("c".to_owned()), ..facts() }, None);
        assert_eq!(again.key, found.key, "another boot is the same host");
        let other = identity(&HostFacts { kernel: Some("Linux 6.2".to_owned()), ..facts() }, None);
        assert_ne!(other.key, found.key, "another kernel is another host");
    }

    #[test]
    fn mitigations_are_in_the_key_and_changeable_settings_are_not() {
        let plain = identity(&facts(), None);
        let mitigations = [("retbleed", "Mitigation: IBPB"), ("l1tf", "Vulnerable")];
        let mitigated = KernelSettings {
            mitigations: mitigations.map(|(name, done)| (name.to_owned(), done.to_owned())).into(),
            ..KernelSettings::default()
        };
        let other = identity(&HostFacts { settings: mitigated, ..facts() }, None);
        assert_eq!(other.lasting["mitigations"], "l1tf: Vulnerable; retbleed: Mitigation: IBPB");
        assert_ne!(other.key, plain.key);
        let steering = PacketSteering { loopback: vec![CoreId::new(1)], new_interfaces: None };
        let steered = KernelSettings { packet_steering: Some(steering), ..KernelSettings::default() };
        let same = identity(&HostFacts { settings: steered, ..facts() }, None);
        assert_eq!((same.key, same.passing["packet steering"].as_str()), (plain.key, "1"));
    }

    #[test]
    fn this_host_has_a_key_that_stays() {
        let [first, second] = [(), ()].map(|()| identity(&facts::read(), None));
        assert_eq!(first, second);
        assert_eq!(first.key.len(), 16);
    }
}
