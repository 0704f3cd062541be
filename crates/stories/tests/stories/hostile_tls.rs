//! `weigh load` against every TLS misbehaviour of `weigh hostile`, one test each, by its name.

met! {
    [Tls]
    tls_alert
    tls_plain_text
    tls_garbage
    tls_endless_records
    tls_close_at_hello
    tls_close_mid_handshake
    tls_stall_in_handshake
    tls_expired
    tls_future
    tls_wrong_name
    tls_stranger
    tls_forged_record
    tls_plain_reply
    tls_truncated
    tls_cut_in_record
    tls_reset
    tls_silent
    tls_verified
    tls_1_2
    tls_tiny_records
    tls_goodbye
    tls_close_each
}
