//! What proxies answer about their counters: what is read, written in the program's own form again, reads back the same.

use weighbridge_lab::layers::sidecar::proxy::{Passed, Program, Wire, count};

/// Reads `data` as each program's answer.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for program in Program::ALL {
        let read = |wire, text: &str| count(program, wire, text);
        let Some(bytes) = read(Wire::Tcp, &text) else {
            assert_eq!(read(Wire::Http1, &text), None, "{program:?}: without connections nothing is told");
            continue;
        };
        assert_eq!(bytes.requests, None, "{program:?}: bytes are no requests");
        let Some(passed) = read(Wire::Http1, &text) else { continue };
        assert_eq!(passed.connections, bytes.connections, "{program:?}: the same connections");
        assert_eq!(read(Wire::Grpc, &written(program, passed)), Some(passed), "{program:?}");
        // Nothing that came before can have passed since.
        let requests = passed.requests.map(|_| 0);
        assert_eq!(passed.since(passed), Passed { connections: 0, requests });
    }
}

fn written(program: Program, passed: Passed) -> String {
    let Passed { connections, requests } = passed;
    let requests = requests.unwrap_or_default();
    match program {
        Program::Haproxy => format!("# pxname,svname,stot,req_tot\nin,FRONTEND,{connections},{requests}\n"),
        Program::Nginx => {
            format!("server accepts handled requests\n {connections} {connections} {requests} \n")
        }
        Program::Envoy => {
            format!("http.in.downstream_cx_total: {connections}\nhttp.in.downstream_rq_total: {requests}\n")
        }
    }
}
