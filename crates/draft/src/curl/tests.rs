//! Command lines of curl: the draft asks what curl 7.88 sends for the same line.

use super::*;

fn files(name: &str) -> std::io::Result<Vec<u8>> {
    match name {
        "body.json" => Ok(b"{\"a\": 1}\r\n".to_vec()),
        "headers" => Ok(b"X-One: 1\r\nX-Two: 2\r\n".to_vec()),
        "picture" => Ok(vec![0xff, 0xd8]),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn parsed(line: &str) -> Result<Draft, CurlError> {
    parse_line(line, &mut files)
}

fn read(line: &str) -> (Request, Address, Vec<String>) {
    let draft = parsed(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let Server::Address(address) = draft.server else { panic!("curl asks an address") };
    (draft.requests.into_iter().next().expect("a request"), *address, draft.notes)
}

fn fields(request: &Request) -> Vec<String> {
    request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect()
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

#[test]
fn the_method_follows_from_the_data_unless_it_is_given() {
    for (line, method, body) in [
        ("curl h", "GET", None),
        ("curl -I h", "HEAD", None),
        ("curl -d a=1 h", "POST", Some("a=1")),
        ("curl -da=1 -d b=2 h", "POST", Some("a=1&b=2")),
        ("curl -X put --data-raw @x h", "PUT", Some("@x")),
        ("curl -XDELETE h", "DELETE", None),
        ("curl -T body.json h", "PUT", Some("{\"a\": 1}\r\n")),
        ("curl -d @body.json h", "POST", Some("{\"a\": 1}")),
        ("curl --data-binary @body.json h", "POST", Some("{\"a\": 1}\r\n")),
        ("curl --data-urlencode 'q=a b&c' --data-urlencode 'x y' h", "POST", Some("q=a%20b%26c&x%20y")),
        ("curl --json '{' --json '}' h", "POST", Some("{}")),
        ("curl -d '' h", "POST", None),
    ] {
        let (request, ..) = read(line);
        assert_eq!((&*request.method, request.body.as_deref()), (method, body), "{line}");
    }
}

/// In an experiment `${` begins a value that is filled in; to curl it is text.
#[test]
fn dollar_signs_are_text() {
    let (request, ..) = read("curl 'h/a${b}?c=${d}' -d 'x${y}' -H 'A: ${z}'");
    assert!(fields(&request).contains(&"A: ${$}{z}".to_owned()), "{request:?}");
    assert_eq!((&*request.path, request.body.as_deref()), ("/a${$}{b}?c=${$}{d}", Some("x${$}{y}")));
}

#[test]
fn data_goes_into_the_query_where_it_is_asked_for() {
    let (request, ..) = read("curl -G -d a=1 --data-urlencode 'b=x y' 'http://h:8080/find?c=3#top'");
    assert_eq!(request.path, "/find?c=3&a=1&b=x%20y");
    assert_eq!((&*request.method, request.body, request.headers), ("GET", None, vec![]));
}

#[test]
fn header_fields_are_those_that_curl_would_send() {
    let fields = |line: &str| fields(&read(line).0);
    assert_eq!(fields("curl -d a h"), [FORM]);
    assert_eq!(fields("curl -d a -H 'content-type: text/plain' h"), ["content-type: text/plain"]);
    assert_eq!(fields("curl -d a -H 'Content-Type:' h"), [""; 0]);
    assert_eq!(fields("curl --json 1 h"), ["Content-Type: application/json", "Accept: application/json"]);
    assert_eq!(fields("curl -H 'X-Empty;' -H @headers h"), ["X-Empty: ", "X-One: 1", "X-Two: 2"]);
    assert_eq!(
        fields("curl -A me -e http://from/ -r 0-99 h"),
        ["User-Agent: me", "Referer: http://from/", "Range: bytes=0-99"]
    );
    assert_eq!(fields("curl --compressed h"), ["Accept-Encoding: deflate, gzip, br, zstd"]);
    assert_eq!(fields("curl -H 'Host: other' h"), ["Host: other"]);
    let (request, _, notes) = read("curl -H 'Connection: close' -H 'Content-Length: 3' h");
    assert!(request.headers.is_empty() && notes.len() == 2, "{notes:?}");
}

#[test]
fn secrets_never_reach_the_draft() {
    // echo -n me:swordfish | base64
    for line in [
        "curl -u me:swordfish http://h/",
        "curl http://me:swordfish@h/",
        "curl -H 'Authorization: Basic bWU6c3dvcmRmaXNo' h",
        "curl --oauth2-bearer swordfish h",
        "curl -b session=swordfish h",
        "curl --cookie 'a=1; b=swordfish' h",
        "curl -H 'X-Api-Key: swordfish' h",
    ] {
        let draft = parsed(line).expect(line);
        let all = format!("{draft:?}\n{}", draft.to_file());
        assert!(!all.contains("swordfish") && !all.contains("bWU6c3dvcmRmaXNo"), "{line}: {all}");
        let value = &draft.requests[0].headers[0].1;
        assert!(
            value.starts_with("env:") && draft.notes[0].contains(&value["env:".len()..]),
            "{line}: {all}"
        );
    }
}

#[test]
fn options_below_http_go_to_the_address() {
    let (_, address, _) = read("curl -k --http2 --tlsv1.3 --cert both.pem https://h:8443/a");
    let tls = address.tls.expect("TLS");
    assert!(tls.insecure && tls.min == TlsVersion::V13);
    assert_eq!((tls.cert.as_deref(), tls.key.as_deref()), (Some("both.pem"), Some("both.pem")));
    assert_eq!(address.protocol, Some(Protocol::HTTP2_JSON));
    assert_eq!(address.url.to_string(), "https://h:8443/");
    let (request, address, notes) = read("curl -k --unix-socket /run/s http://localhost/a");
    assert_eq!((address.unix.as_deref(), address.tls, &*request.path), (Some("/run/s"), None, "/a"));
    assert!(notes[0].contains("plain text"), "{notes:?}");
    assert_eq!(parsed("curl -m 2.5 h").expect("a line").timeout, Some(Nanoseconds::from_millis(2500)));
}

#[test]
fn options_may_be_written_in_all_of_curls_forms() {
    let (request, address, notes) =
        read("curl -sSkXPOST -da -o /dev/null -w '%{http_code}' --url https://h/a -- ");
    assert_eq!((&*request.method, request.body.as_deref()), ("POST", Some("a")));
    assert!(address.tls.is_some_and(|tls| tls.insecure) && notes.is_empty());
    let (_, _, notes) = read("$ curl -L h | jq .name");
    assert!(notes.iter().any(|note| note.contains("`|`")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("redirects are not followed")), "{notes:?}");
    let (_, _, notes) = read("curl --resolve h:80:127.0.0.1 \"h/$ID\"");
    assert_eq!(notes[0], "`--resolve` is left out");
    assert_eq!(notes[1], "a shell would have replaced `$ID`, which stands in the file as it is");
}

#[test]
fn unsupported_words_are_reported_with_their_position() {
    for (line, message) in [
        ("wget h", "`wget` is not `curl`; paste the line from `curl` on"),
        ("curl 'h", "this is no command line: a quote is not closed; paste the whole line"),
        ("curl -s", "there is no URL in the line; add it"),
        ("curl h i", "word 3: `i` is a second URL; one request at a time"),
        ("curl h -H", "word 3: `-H` wants a value behind it"),
        (
            "curl h --hedaer x",
            "word 3: curl's option `--hedaer` is not known; did you mean `--header`? or leave it out",
        ),
        (
            "curl h --data=1",
            "word 3: curl's option `--data=1` is not known; write `--data` and its value as two words",
        ),
        (
            "curl h --frobnicate",
            "word 3: curl's option `--frobnicate` is not known; leave it out, with its value where it has one",
        ),
        (
            "curl -s@ h",
            "word 2: curl's option `-@` is not known; leave it out, with its value where it has one",
        ),
        (
            "curl -F a=b h",
            "word 2: `-F` cannot be taken over: multipart forms are not made here; save the body and give it with `--data-binary @file` and its `Content-Type`",
        ),
        ("curl -d @gone h", "word 2: `-d`: could not read `gone`: entity not found"),
        ("curl -d @picture h", "word 2: `-d`: `picture` is no text in UTF-8, and an experiment's body is"),
        ("curl -X 'A B' h", "word 2: `-X`: `A B` is no method such as `GET`"),
        ("curl -H nonsense h", "word 2: `-H`: `nonsense` is no header such as `Name: value`"),
        ("curl -b jar h", "word 2: `-b`: files of cookies are not read; write `name=value`"),
        ("curl -m soon h", "word 2: `-m`: want seconds, such as `2.5`"),
        ("curl ftp://h/", "`ftp://h/`: `ftp://` is not supported; allowed: `http://`, `https://`"),
        (
            "curl a ^\n  -d b",
            "this is no command line: lines that end with `^` are of Windows' `cmd`; choose `Copy as cURL (bash)`",
        ),
    ] {
        assert_eq!(parsed(line).expect_err(line).to_string(), message, "{line}");
    }
}

#[test]
fn every_option_is_known_once() {
    for (at, known) in KNOWN.iter().enumerate() {
        let others = &KNOWN[at + 1..];
        assert!(!others.iter().any(|other| other.long == known.long), "--{}", known.long);
        let twice = |other: &Known| known.short.is_some() && other.short == known.short;
        assert!(!others.iter().any(twice), "-{:?}", known.short);
    }
}

#[test]
fn a_line_of_curl_is_distinguished_from_an_address() {
    for (text, is) in
        [("curl h", true), ("$ curl h", true), ("curl", false), ("http://curl/", false), ("curling h", false)]
    {
        assert_eq!(is_curl(text), is, "{text}");
    }
}
