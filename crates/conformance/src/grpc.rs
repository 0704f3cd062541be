//! Rows G1 to G17: gRPC in clear text, with the operations of `services/proto/pong.proto`.
//!
//! `calls` has calls and their messages.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::time::sleep;
use weighbridge_model::experiment::Protocol;

use super::calls::{
    Call, File, INVALID_ARGUMENT, OK, PongReply, PongRequest, ReflectionReply, ReflectionRequest, Replies,
    StreamRequest, Summary, UNIMPLEMENTED, VersionReply, framed,
};
use super::harness::{Harness, Service};
use super::limits::{Limits, STREAM_END};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::process::version_line;
use super::reply::Expected;
use super::streams::{Http2, Windows, drive};
use super::{Needs, Test, row};

const NEEDS: Needs = Needs::Speaks(Protocol::GRPC);

pub(super) const ROWS: &[Test] = &[
    row("G1", "`Pong` answers one body and status 0, sizes 4 to 10,000,000").tried(NEEDS, sizes_are_answered),
    row("G2", "`Pong` with a size that is not allowed ends with INVALID_ARGUMENT and a message")
        .tried(NEEDS, wrong_sizes_are_refused),
    row("G3", "`Version` answers the line of `--version`").tried(NEEDS, version_is_answered),
    row("G4", "`Stream` answers as many bodies as were asked, none included")
        .tried(NEEDS, streams_are_as_long_as_asked),
    row("G5", "`Stream` with a size or count that is not allowed ends with INVALID_ARGUMENT before any body")
        .tried(NEEDS, wrong_streams_are_refused),
    row("G6", "`Collect` counts messages and bytes once the client has ended")
        .tried(NEEDS, messages_are_counted),
    row("G7", "`Chat` answers each request as soon as it is read, then status 0")
        .tried(NEEDS, a_chat_goes_to_and_fro),
    row(
        "G8",
        "`Chat` with a size that is not allowed ends with INVALID_ARGUMENT behind the replies before it",
    )
    .tried(NEEDS, a_chat_ends_at_a_wrong_size),
    row("G9", "an operation or service that does not exist ends with UNIMPLEMENTED")
        .tried(NEEDS, unknown_operations_are_unimplemented),
    row("G10", "reflection lists the service and describes its five operations")
        .tried(NEEDS, reflection_tells_the_interface),
    row("G11", "100 calls at once on one connection get all their replies")
        .tried(NEEDS, many_calls_are_served),
    row("G12", "a stream that nobody reads does not hold up other calls")
        .tried(NEEDS, an_unread_stream_holds_nobody_up),
    row("G13", "a call that is cancelled amid its stream harms neither its connection nor others")
        .tried(NEEDS, a_cancelled_call_harms_nobody),
    row("G14", "a message that comes byte by byte is read").tried(NEEDS, messages_in_pieces_are_read),
    row("G15", "a message that is no Protocol Buffers is refused and leaves the connection usable")
        .tried(NEEDS, broken_messages_are_refused),
    row("G16", "SIGTERM amid a stream: GOAWAY, it is sent in full, then connection and process end")
        .tried(NEEDS, an_outstanding_stream_is_finished),
    row("G17", "SIGTERM ends an idle connection within 2 s; a call that never ends is cut off within 5 s")
        .tried(NEEDS, idle_ends_and_endless_is_cut_off),
];

/// Time between a signal and the next check.
const MOMENT: Duration = Duration::from_millis(200);

fn start(harness: &Harness) -> Result<Service, Shortfall> {
    harness.start_with(&[("PROTOCOL", "grpc")])
}

async fn open(service: &Service, windows: Windows, limits: Limits) -> Result<Http2, Shortfall> {
    Http2::open(service.address(), limits, windows).await
}

/// Asks for one body and checks it; also used by a row about TLS.
pub(super) async fn ask_pong(connection: &mut Http2, size: u32, limits: Limits) -> Verdict {
    let mut call = Call::begin(connection, "Pong", limits).await?;
    call.send(&PongRequest { size }, true)?;
    let reply: PongReply = call.only().await?;
    check(&reply, size)
}

fn check(reply: &PongReply, size: u32) -> Verdict {
    let size = size as usize;
    let right = Expected::Pong(size).check_body(&reply.body);
    right.map_err(|came| differs("a reply", format_args!("the body of pong({size})"), came))
}

fn sizes_are_answered(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let sizes =
            [4, 5, 6, 127, 128, 1000, 16_376, 16_384, 65_529, 65_535, 65_536, 200_000, 1_000_000, 10_000_000];
        for size in sizes {
            ask_pong(&mut connection, size, limits).await?;
        }
        Ok(())
    })
}

fn wrong_sizes_are_refused(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        for size in [0, 1, 2, 3, 100_000_001, u32::MAX] {
            let mut call = Call::begin(&mut connection, "Pong", limits).await?;
            call.send(&PongRequest { size }, true)?;
            call.ends_with(INVALID_ARGUMENT).await?;
        }
        ask_pong(&mut connection, 5, limits).await
    })
}

fn version_is_answered(harness: &mut Harness) -> Verdict {
    let (service, limits, version) = (start(harness)?, harness.limits(), version_line(harness, &[])?);
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut call = Call::begin(&mut connection, "Version", limits).await?;
        call.send_bytes(framed(&[]), true)?;
        let reply: VersionReply = call.only().await?;
        if reply.text == version {
            return Ok(());
        }
        Err(differs("`Version`", format_args!("`{version}`"), quoted(reply.text.as_bytes())))
    })
}

async fn stream(connection: &mut Http2, size: u32, count: u32, limits: Limits) -> Result<Call, Shortfall> {
    let mut call = Call::begin(connection, "Stream", limits).await?;
    call.send(&StreamRequest { size, count }, true)?;
    Ok(call)
}

/// Reads `count` bodies.
async fn bodies(call: &mut Call, size: u32, count: u32) -> Verdict {
    for index in 0..count {
        match call.next().await? {
            Some(reply) => check(&reply, size)?,
            None => return Err(call.wrong("more messages", format!("{} after {index}", call.ending()))),
        }
    }
    Ok(())
}

fn streams_are_as_long_as_asked(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        for (size, count) in [(5, 0), (4, 1), (5, 10), (1000, 10_000), (1_000_000, 5)] {
            let mut call = stream(&mut connection, size, count, limits).await?;
            bodies(&mut call, size, count).await?;
            call.ends_with(OK).await?;
        }
        Ok(())
    })
}

fn wrong_streams_are_refused(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        for (size, count) in [(3, 1), (3, 0), (100_000_001, 1), (5, 1_000_001), (5, u32::MAX)] {
            stream(&mut connection, size, count, limits).await?.ends_with(INVALID_ARGUMENT).await?;
        }
        ask_pong(&mut connection, 5, limits).await
    })
}

fn messages_are_counted(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        for lengths in [vec![], vec![0], (0..100).collect(), vec![1_000_000, 0, 2_000_000]] {
            let mut call = Call::begin(&mut connection, "Collect", limits).await?;
            for length in &lengths {
                call.send(&PongReply { body: vec![b'x'; *length].into() }, false)?;
            }
            call.end()?;
            let expected =
                Summary { count: lengths.len() as u64, bytes: lengths.iter().sum::<usize>() as u64 };
            let summary: Summary = call.only().await?;
            if summary != expected {
                return Err(differs("`Collect`", format_args!("{expected:?}"), format_args!("{summary:?}")));
            }
        }
        Ok(())
    })
}

fn a_chat_goes_to_and_fro(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut call = Call::begin(&mut connection, "Chat", limits).await?;
        for size in [4, 5, 1000, 65_536, 5, 200_000, 6] {
            call.send(&PongRequest { size }, false)?;
            bodies(&mut call, size, 1).await?;
        }
        call.end()?;
        call.ends_with(OK).await
    })
}

fn a_chat_ends_at_a_wrong_size(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut call = Call::begin(&mut connection, "Chat", limits).await?;
        for size in [5, 6, 3] {
            call.send(&PongRequest { size }, false)?;
        }
        bodies(&mut call, 5, 1).await?;
        bodies(&mut call, 6, 1).await?;
        call.ends_with(INVALID_ARGUMENT).await?;
        ask_pong(&mut connection, 5, limits).await
    })
}

fn unknown_operations_are_unimplemented(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        for path in ["/weighbridge.pong.v1.Pong/Ping", "/weighbridge.ping.v1.Ping/Pong", "/frobnicate"] {
            let mut call = Call::at(&mut connection, path, limits).await?;
            call.send(&PongRequest { size: 5 }, true)?;
            call.ends_with(UNIMPLEMENTED).await?;
        }
        ask_pong(&mut connection, 5, limits).await
    })
}

fn reflection_tells_the_interface(harness: &mut Harness) -> Verdict {
    const SERVICE: &str = "weighbridge.pong.v1.Pong";
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
        let mut call = Call::at(&mut connection, path, limits).await?;
        let list = ReflectionRequest { list_services: Some(String::new()), ..ReflectionRequest::default() };
        call.send(&list, false)?;
        let reply: ReflectionReply = call.next().await?.unwrap_or_default();
        let services = reply.services.unwrap_or_default().services;
        if !services.iter().any(|service| service.name == SERVICE) {
            return Err(
                call.wrong(&format!("`{SERVICE}` in the list"), format!("{services:?}; {}", call.ending()))
            );
        }
        let describe = ReflectionRequest {
            file_containing_symbol: Some(SERVICE.to_owned()),
            ..ReflectionRequest::default()
        };
        call.send(&describe, true)?;
        let reply: ReflectionReply = call.next().await?.unwrap_or_default();
        let operations = operations(&reply.files.unwrap_or_default().files);
        let (came, expected) = (operations.join(", "), "Chat <>, Collect >, Pong, Stream <, Version");
        if came != expected {
            return Err(call.wrong(&format!("the operations {expected}"), came));
        }
        call.ends_with(OK).await
    })
}

/// Names of the operations in alphabetical order, with `<` if the service streams and `>` if the client does.
fn operations(files: &[Bytes]) -> Vec<String> {
    let files = files.iter().filter_map(|file| File::decode(file.clone()).ok());
    let services = files.filter(|file| file.package == "weighbridge.pong.v1").flat_map(|file| file.services);
    let methods = services.filter(|service| service.name == "Pong").flat_map(|service| service.methods);
    let mut names: Vec<_> = methods
        .map(|method| {
            let streams = match (method.server_streams, method.client_streams) {
                (true, true) => " <>",
                (true, false) => " <",
                (false, true) => " >",
                (false, false) => "",
            };
            format!("{}{streams}", method.name)
        })
        .collect();
    names.sort();
    names
}

fn many_calls_are_served(harness: &mut Harness) -> Verdict {
    const SIZES: [u32; 5] = [4, 5, 1000, 65_536, 200_000];
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut tasks = Vec::new();
        for index in 0..100 {
            let size = SIZES[index % SIZES.len()];
            let mut call = Call::begin(&mut connection, "Pong", limits).await?;
            call.send(&PongRequest { size }, true)?;
            tasks.push(tokio::spawn(async move { check(&call.only().await?, size) }));
        }
        for task in tasks {
            task.await.map_err(|error| Shortfall::Skipped(error.to_string()))??;
        }
        Ok(())
    })
}

fn an_unread_stream_holds_nobody_up(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::ROOMY, limits).await?;
        let mut unread = stream(&mut connection, 10_000, 100, limits).await?;
        for size in 4..104 {
            ask_pong(&mut connection, size, limits).await?;
        }
        bodies(&mut unread, 10_000, 100).await?;
        unread.ends_with(OK).await
    })
}

fn a_cancelled_call_harms_nobody(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::ROOMY, limits).await?;
        for _ in 0..20 {
            let mut call = stream(&mut connection, 10_000, 1_000_000, limits).await?;
            bodies(&mut call, 10_000, 1).await?;
            call.requests.send_reset(h2::Reason::CANCEL);
            drop(call);
            ask_pong(&mut connection, 5, limits).await?;
        }
        let mut other = open(&service, Windows::DEFAULT, limits).await?;
        ask_pong(&mut other, 5, limits).await
    })
}

fn messages_in_pieces_are_read(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut call = Call::begin(&mut connection, "Pong", limits).await?;
        for byte in framed(&PongRequest { size: 1000 }.encode_to_vec()) {
            call.send_bytes(vec![byte].into(), false)?;
            // The pause makes each byte a separate frame and write.
            sleep(Duration::from_millis(5)).await;
        }
        call.end()?;
        check(&call.only().await?, 1000)
    })
}

fn broken_messages_are_refused(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        // A varint without end, and a field that is longer than its message.
        for broken in [&[0x08, 0xff][..], &[0x0a, 0x7f, 0x00]] {
            let mut call = Call::begin(&mut connection, "Pong", limits).await?;
            call.send_bytes(framed(broken), true)?;
            let message = call.receive().await.map_err(|came| call.wrong("an error", came))?;
            if message.is_some() || matches!(call.replies, Replies::Ended(OK, _)) {
                return Err(call.wrong("a status that is not 0", call.ending()));
            }
        }
        ask_pong(&mut connection, 5, limits).await
    })
}

fn an_outstanding_stream_is_finished(harness: &mut Harness) -> Verdict {
    const COUNT: u32 = 5000;
    let (service, limits) = (start(harness)?, harness.limits());
    let stopping = drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut call = stream(&mut connection, 1000, COUNT, limits).await?;
        bodies(&mut call, 1000, 1).await?;
        let stopping = service.terminate()?;
        sleep(MOMENT).await;
        if !connection.is_going_away().await {
            return Err(
                call.wrong("GOAWAY within 200 ms of SIGTERM", "a connection that takes more".to_owned())
            );
        }
        bodies(&mut call, 1000, COUNT - 1).await?;
        call.ends_with(OK).await?;
        drop(call);
        let end = connection.end_behind_reply().await;
        end.map_err(|came| differs("SIGTERM amid a stream", "the connection's end behind it", came))?;
        Ok(stopping)
    })?;
    stopping.end()
}

fn idle_ends_and_endless_is_cut_off(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut idle = open(&service, Windows::DEFAULT, limits).await?;
        ask_pong(&mut idle, 5, limits).await?;
        let mut busy = open(&service, Windows::DEFAULT, limits).await?;
        let mut chat = Call::begin(&mut busy, "Chat", limits).await?;
        chat.send(&PongRequest { size: 5 }, false)?;
        bodies(&mut chat, 5, 1).await?;
        let stopping = service.terminate()?;
        let end = idle.end(stopping.signalled() + STREAM_END).await;
        end.map_err(|came| differs("SIGTERM", "the end of an idle connection within 2 s", came))?;
        // The event loop must keep running, so that the client answers control frames.
        let end = tokio::task::spawn_blocking(move || stopping.end()).await;
        drop((busy, chat));
        end.map_err(|error| Shortfall::Skipped(error.to_string()))?
    })
}
