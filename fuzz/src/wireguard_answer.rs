//! What ends of a tunnel say has passed: what is read, written in either form again, reads back the same.

use weighbridge_lab::layers::wireguard::tunnel::{Transfer, parse_errno, parse_shown, parse_transfer};

/// Reads `data` as a daemon's answer, and as what `wg show` says of transfers and, after an empty line, handshakes.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(transfer) = parse_transfer(&text) {
        assert_eq!(parse_errno(&text), Some(0), "who failed tells nothing");
        assert_both_forms(transfer);
    }
    if let Some((transfer, handshakes)) = text.split_once("\n\n")
        && let Some(transfer) = parse_shown(transfer, handshakes)
    {
        assert_both_forms(transfer);
    }
}

fn assert_both_forms(transfer: Transfer) {
    let Transfer { received, sent, handshake } = transfer;
    let daemons = format!(
        "private_key=00\npublic_key=01\nlast_handshake_time_sec={handshake}\ntx_bytes={sent}\nrx_bytes={received}\nerrno=0\n\n"
    );
    assert_eq!(parse_transfer(&daemons), Some(transfer));
    let (shown, handshakes) = (format!("key=\t{received}\t{sent}\n"), format!("key=\t{handshake}\n"));
    assert_eq!(parse_shown(&shown, &handshakes), Some(transfer));
    // Nothing that came before can have passed since.
    assert_eq!(transfer.since(transfer), Transfer { received: 0, sent: 0, handshake });
}
