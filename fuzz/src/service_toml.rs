//! `service.toml`: what is accepted offers what it lists, can be launched, and means the same when its TOML is written
//! out anew.

use std::path::Path;

use weighbridge_lab::service::Service;

/// Reads `data` as the description of a service.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A folder without a name, so that a service may have any.
    let folder = Path::new("/");
    let service = match Service::parse(folder, text) {
        Ok(service) => service,
        Err(error) => {
            assert!(error.to_string().starts_with("`/service.toml`"), "{error}");
            return;
        }
    };
    for offer in service.workloads() {
        for protocol in &offer.protocols {
            service.offers(&offer.name, protocol).expect("it lists both");
            let launch = service.launch(&offer.name, protocol, Path::new("out"), Path::new("err"));
            assert!(launch.command.first().is_some_and(|program| !program.is_empty()), "{launch:?}");
        }
    }
    let table: toml::Table = toml::from_str(text).expect("a service's file is TOML");
    let anew = toml::to_string(&table).expect("a table can be written");
    assert_eq!(Service::parse(folder, &anew).ok().as_ref(), Some(&service), "{anew}");
    let named = Path::new("/services").join("other-name");
    assert!(service.name() == "other-name" || Service::parse(&named, text).is_err(), "its folder names it");
}
