//! Rows P1 to P15: the workload `pingpong` over `http1-json`.

use super::harness::Harness;
use super::http::refuses_or_closes;
use super::outcome::{Verdict, differs};
use super::reply::{Expected, RawRequest, ask};
use super::{Needs, Test, row};

pub(super) const ROWS: &[Test] = &[
    row("P1", "`/pong/4` is `pong`").tried(Needs::Service, |harness| pongs(harness, &[4])),
    row("P2", "`/pong/5` is `poong`").tried(Needs::Service, |harness| pongs(harness, &[5])),
    row("P3", "22 sizes up to 1,000,000, around the edges of segments and buffers, keep the law")
        .tried(Needs::Service, |harness| pongs(harness, &SIZES)),
    row("P4", "10,000,000 bytes keep the law, on four connections at once too")
        .tried(Needs::Service, large_bodies_at_once),
    row("P5", "100,000,000 bytes, the most, keep the law")
        .tried(Needs::ServiceAndTime, |harness| pongs(harness, &[100_000_000])),
    row("P6", "sizes below 4 and above 100,000,000 are 400, however large")
        .tried(Needs::Service, sizes_out_of_range_are_400),
    row("P7", "what is no canonical decimal is 400")
        .tried(Needs::Service, |harness| refused(harness, &NOT_CANONICAL)),
    row("P8", "no size at all is 400").tried(Needs::Service, |harness| refused(harness, &[""])),
    row("P9", "what is no canonical decimal after percent-decoding is 400").tried(
        Needs::Service,
        |harness| {
            refused(harness, &["%20", "5%20", "%205", "%2B5", "5%00", "5%0A", "5%2F6", "%FF", "%D9%A5"])
        },
    ),
    row("P10", "the size is compared after percent-decoding").tried(Needs::Service, |harness| {
        harness.ask(&RawRequest::get("/pong/%35"), &Expected::Pong(5)).map(drop)
    }),
    row("P11", "a broken percent-escape is refused with 400 or by closing, and nobody else notices")
        .tried(Needs::Service, |harness| {
            refuses_or_closes(harness, "`GET /pong/%zz`", &RawRequest::get("/pong/%zz").bytes())
        }),
    row("P12", "a query is ignored").tried(Needs::Service, queries_are_ignored),
    row("P13", "`HEAD` answers type and length of `GET` without a body")
        .tried(Needs::Service, heads_have_no_body),
    row("P14", "`HEAD` of a wrong size is 400 without a body")
        .tried(Needs::Service, |harness| head_then_pong(harness, "/pong/abc", &Expected::Problem(400))),
    row("P15", "the same request gets the same reply, all but `Date`")
        .tried(Needs::Service, replies_are_the_same),
];

/// Sizes around limits of digits, segments, pages and buffers.
pub(super) const SIZES: [usize; 22] = [
    6, 7, 8, 9, 10, 99, 100, 1000, 1459, 1460, 1461, 4095, 4096, 4097, 8192, 16_384, 65_535, 65_536, 65_537,
    87_380, 500_000, 1_000_000,
];

const NOT_CANONICAL: [&str; 13] =
    ["abc", "-5", "+5", "5.0", "5e3", "0x5", "007", "05", "5a", "a5", "5_0", "5,0", "5;a=1"];

fn pongs(harness: &mut Harness, sizes: &[usize]) -> Verdict {
    sizes.iter().try_for_each(|n| harness.ask(&RawRequest::pong(*n), &Expected::Pong(*n)).map(drop))
}

fn large_bodies_at_once(harness: &mut Harness) -> Verdict {
    const LARGE: usize = 10_000_000;
    pongs(harness, &[LARGE])?;
    harness.shared()?.at_once(4, |_, mut connection| {
        ask(&mut connection, &RawRequest::pong(LARGE), &Expected::Pong(LARGE)).map(drop)
    })
}

fn queries_are_ignored(harness: &mut Harness) -> Verdict {
    ["size=6", "", "a=%20/6&b=c%26d;e"].into_iter().try_for_each(|query| {
        harness.ask(&RawRequest::get(format!("/pong/5?{query}")), &Expected::Pong(5)).map(drop)
    })
}

fn refused(harness: &mut Harness, sizes: &[&str]) -> Verdict {
    sizes.iter().try_for_each(|size| {
        harness.ask(&RawRequest::get(format!("/pong/{size}")), &Expected::Problem(400)).map(drop)
    })
}

fn sizes_out_of_range_are_400(harness: &mut Harness) -> Verdict {
    // The two large ones are 5 modulo 2^32 and 2^64.
    refused(harness, &["0", "1", "2", "3", "100000001", "4294967301", "18446744073709551621"])?;
    refused(harness, &[&"9".repeat(400)])
}

fn heads_have_no_body(harness: &mut Harness) -> Verdict {
    [5, 1_000_000]
        .into_iter()
        .try_for_each(|n| head_then_pong(harness, &format!("/pong/{n}"), &Expected::Pong(n)))
}

/// Sends `HEAD`, then row P2 on the same connection; a body after the head would disturb the second reply.
fn head_then_pong(harness: &mut Harness, path: &str, expected: &Expected) -> Verdict {
    let mut connection = harness.connect()?;
    ask(&mut connection, &RawRequest::head(path), expected)?;
    ask(&mut connection, &RawRequest::pong(5), &Expected::Pong(5)).map(drop)
}

fn replies_are_the_same(harness: &mut Harness) -> Verdict {
    let request = RawRequest::pong(1000);
    // Both bodies keep the law, or `ask` would have failed.
    let first = harness.ask(&request, &Expected::Pong(1000))?.head.lasting_headers();
    let second = harness.ask(&request, &Expected::Pong(1000))?.head.lasting_headers();
    if first == second {
        return Ok(());
    }
    Err(differs(request, format_args!("the headers {first:?} again"), format_args!("{second:?}")))
}
