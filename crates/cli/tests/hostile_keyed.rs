//! `weigh load` against every memcached and Redis misbehaviour of `weigh hostile`, one test each, by its name.

#[macro_use]
mod support;

met! {
    [Memcached, Resp]
    memcached_length_too_large
    memcached_length_too_small
    memcached_length_letters
    memcached_length_negative
    memcached_length_overflow
    memcached_no_length
    memcached_no_end
    memcached_value_without_line_end
    memcached_unknown_line
    memcached_endless_line
    memcached_endless_value
    memcached_endless_values
    memcached_other_key
    memcached_stored
    memcached_server_error
    memcached_client_error
    memcached_error
    memcached_two_replies
    memcached_garbage
    memcached_http
    memcached_close_mid_value
    memcached_reset
    memcached_silent
    memcached_drip
    memcached_byte_writes
    memcached_flags
    memcached_line_ends_in_value
    resp_integer_for_text
    resp_array_for_text
    resp_unknown_type
    resp_length_negative
    resp_length_letters
    resp_length_empty
    resp_length_overflow
    resp_length_too_small
    resp_length_too_large
    resp_no_line_end
    resp_number_letters
    resp_array_negative
    resp_array_huge
    resp_array_silent
    resp_deep_nesting
    resp_endless_line
    resp_endless_text
    resp_push_cut
    resp_error
    resp_two_replies
    resp_garbage
    resp_http
    resp_close_mid_text
    resp_reset
    resp_silent
    resp_drip
    resp_byte_writes
    resp_simple_text
    resp_line_ends_in_text
}
