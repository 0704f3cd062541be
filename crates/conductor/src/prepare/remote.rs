//! Whether load may go where it is to go, asked before the first request by whatever puts load on a URL.

use std::net::IpAddr;

use weighbridge_load::dial::resolve;
use weighbridge_load::reach::{Reach, reach};
use weighbridge_model::experiment::Url;
use weighbridge_model::quantity::PerSecond;

/// Highest rate of open load, per second, against a public address without explicit permission.
const REMOTE_RATE: f64 = 1_000.0;

/// Why load may not go to an address.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RemoteError {
    #[error(
        "{server} is {what}, which is no server's; write the server's own address, such as `127.0.0.1` or `[::1]`"
    )]
    Nowhere { server: String, what: &'static str },
    #[error(
        "closed load, as fast as replies come, against {server}, which is neither loopback nor private; add `--allow-remote` if that server is yours, or send open load of at most {REMOTE_RATE}/s"
    )]
    Closed { server: String },
    #[error(
        "{rate} against {server}, which is neither loopback nor private; add `--allow-remote` if that server is yours"
    )]
    Fast { server: String, rate: PerSecond },
}

/// Refuses to load one of `urls`, or `connect_to` in their place, with requests at `peak`; closed load has none.
pub fn check_remote<'a>(
    urls: impl IntoIterator<Item = &'a Url>,
    connect_to: Option<&(String, u16)>,
    peak: Option<PerSecond>,
    allowed: bool,
) -> Result<(), RemoteError> {
    for url in urls {
        let (host, port) = connect_to.map_or((url.host.as_str(), url.port), |(host, port)| (host, *port));
        // A name without an address is reported where it is connected to.
        for address in resolve(host, port).unwrap_or_default() {
            check_address(host, address.ip(), peak, allowed)?;
        }
    }
    Ok(())
}

fn check_address(host: &str, ip: IpAddr, peak: Option<PerSecond>, allowed: bool) -> Result<(), RemoteError> {
    let bare = host.trim_matches(['[', ']']);
    let server = if bare == ip.to_string() { format!("`{bare}`") } else { format!("`{bare}` ({ip})") };
    match (reach(ip), peak) {
        (Reach::Nowhere(what), _) => Err(RemoteError::Nowhere { server, what }),
        (Reach::Public, None) if !allowed => Err(RemoteError::Closed { server }),
        (Reach::Public, Some(rate)) if !allowed && rate.get() > REMOTE_RATE => {
            Err(RemoteError::Fast { server, rate })
        }
        (Reach::Near | Reach::Public, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str, connect_to: Option<&str>, peak: Option<f64>, allowed: bool) -> String {
        let url = Url::parse(url).unwrap();
        let connect_to = connect_to.map(|host| (host.to_owned(), 80));
        let peak = peak.map(|rate| PerSecond::new(rate).unwrap());
        check_remote([&url], connect_to.as_ref(), peak, allowed)
            .map_or_else(|e| e.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn remote_load_is_asked_for_where_it_is_closed_or_fast() {
        let open = |rate| asked("http://192.0.2.1/", None, Some(rate), false);
        assert!(asked("http://192.0.2.1/", None, None, false).starts_with("closed load"));
        assert_eq!(open(1_000.0), "fine");
        assert!(open(1_001.0).contains("`192.0.2.1`, which is neither loopback nor private"));
        assert_eq!(asked("http://192.0.2.1/", None, None, true), "fine");
        for near in
            ["http://localhost/", "http://192.168.0.1/", "http://[fd00::1]/", "http://[::ffff:10.0.0.1]/"]
        {
            assert_eq!(asked(near, None, None, false), "fine", "{near}");
        }
    }

    #[test]
    fn what_is_connected_to_is_judged_and_not_the_urls_host() {
        assert_eq!(asked("http://192.0.2.1/", Some("127.0.0.1"), None, false), "fine");
        assert!(asked("http://localhost/", Some("192.0.2.1"), None, false).contains("--allow-remote"));
    }

    #[test]
    fn an_address_of_no_server_is_refused_whatever_is_allowed() {
        // `100` is resolved as the network stack does.
        for url in
            ["http://100/", "http://0.0.0.0/", "http://[::]/", "http://224.0.0.1/", "http://255.255.255.255/"]
        {
            let said = asked(url, None, Some(1.0), true);
            assert!(said.contains("no server's") && said.contains("`127.0.0.1`"), "{url}: {said}");
        }
    }
}
