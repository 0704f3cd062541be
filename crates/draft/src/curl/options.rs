//! The options of curl: how each is written, whether it has a value, and its effect here.

/// The effect of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Address,
    Method,
    Header,
    /// A field of that name.
    Field(&'static str),
    /// A body; `@` reads a file and removes its line ends.
    Data,
    /// A body as given, `@` included.
    DataRaw,
    /// A body; `@` reads a file unchanged.
    DataBinary,
    DataUrlencode,
    Json,
    Upload,
    /// The body goes into the query.
    Get,
    Head,
    User,
    Bearer,
    Cookie,
    Range,
    Insecure,
    CaCert,
    Cert,
    Key,
    TlsMin(&'static str),
    TlsMax,
    Http2,
    Http1,
    Compressed,
    MaxTime,
    Unix,
    Redirects,
    /// It does not matter for a load: output and its destination.
    Nothing,
    /// It is left out, which changes what is sent or to which server.
    Left,
    /// It cannot be supported, and why.
    Refused(&'static str),
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub long: &'static str,
    /// The letter after one hyphen.
    pub short: Option<char>,
    /// Whether it has a value.
    pub value: bool,
    pub does: Does,
}

const fn with(long: &'static str, short: Option<char>, does: Does) -> Known {
    Known { long, short, value: true, does }
}

const fn plain(long: &'static str, short: Option<char>, does: Does) -> Known {
    Known { long, short, value: false, does }
}

const FORM: &str = "multipart forms are not made here; save the body and give it with `--data-binary @file` and its `Content-Type`";
const LOGIN: &str = "this login takes several requests; give an `Authorization` header";
const PROXY: &str = "requests go straight to the server; give its own address";
const SEVERAL: &str = "one request at a time; a recording holds several: `weigh init FILE.har`";
const HTTP3: &str = "HTTP/3 is not spoken; use `--http2`";

/// Every known option.
pub(super) const KNOWN: &[Known] = &[
    with("url", None, Does::Address),
    with("request", Some('X'), Does::Method),
    with("header", Some('H'), Does::Header),
    with("user-agent", Some('A'), Does::Field("User-Agent")),
    with("referer", Some('e'), Does::Field("Referer")),
    with("data", Some('d'), Does::Data),
    with("data-ascii", None, Does::Data),
    with("data-raw", None, Does::DataRaw),
    with("data-binary", None, Does::DataBinary),
    with("data-urlencode", None, Does::DataUrlencode),
    with("json", None, Does::Json),
    with("upload-file", Some('T'), Does::Upload),
    plain("get", Some('G'), Does::Get),
    plain("head", Some('I'), Does::Head),
    with("user", Some('u'), Does::User),
    with("oauth2-bearer", None, Does::Bearer),
    with("cookie", Some('b'), Does::Cookie),
    with("range", Some('r'), Does::Range),
    plain("insecure", Some('k'), Does::Insecure),
    with("cacert", None, Does::CaCert),
    with("cert", Some('E'), Does::Cert),
    with("key", None, Does::Key),
    plain("tlsv1.2", None, Does::TlsMin("1.2")),
    plain("tlsv1.3", None, Does::TlsMin("1.3")),
    with("tls-max", None, Does::TlsMax),
    plain("http2", None, Does::Http2),
    plain("http2-prior-knowledge", None, Does::Http2),
    plain("http1.1", None, Does::Http1),
    plain("http1.0", Some('0'), Does::Left),
    plain("http3", None, Does::Refused(HTTP3)),
    plain("http3-only", None, Does::Refused(HTTP3)),
    plain("compressed", None, Does::Compressed),
    with("max-time", Some('m'), Does::MaxTime),
    with("unix-socket", None, Does::Unix),
    plain("location", Some('L'), Does::Redirects),
    plain("location-trusted", None, Does::Redirects),
    with("form", Some('F'), Does::Refused(FORM)),
    with("form-string", None, Does::Refused(FORM)),
    plain("anyauth", None, Does::Refused(LOGIN)),
    plain("digest", None, Does::Refused(LOGIN)),
    plain("negotiate", None, Does::Refused(LOGIN)),
    plain("ntlm", None, Does::Refused(LOGIN)),
    with(
        "aws-sigv4",
        None,
        Does::Refused("signatures hold the time of their making, and would be out of date"),
    ),
    with("proxy", Some('x'), Does::Refused(PROXY)),
    with("preproxy", None, Does::Refused(PROXY)),
    with("socks4", None, Does::Refused(PROXY)),
    with("socks4a", None, Does::Refused(PROXY)),
    with("socks5", None, Does::Refused(PROXY)),
    with("socks5-hostname", None, Does::Refused(PROXY)),
    with("config", Some('K'), Does::Refused("give its options here")),
    plain("next", Some(':'), Does::Refused(SEVERAL)),
    plain("basic", None, Does::Nothing),
    plain("silent", Some('s'), Does::Nothing),
    plain("show-error", Some('S'), Does::Nothing),
    plain("no-progress-meter", None, Does::Nothing),
    plain("progress-bar", Some('#'), Does::Nothing),
    plain("verbose", Some('v'), Does::Nothing),
    plain("include", Some('i'), Does::Nothing),
    plain("show-headers", None, Does::Nothing),
    plain("fail", Some('f'), Does::Nothing),
    plain("fail-with-body", None, Does::Nothing),
    plain("fail-early", None, Does::Nothing),
    plain("globoff", Some('g'), Does::Nothing),
    plain("path-as-is", None, Does::Nothing),
    plain("no-buffer", Some('N'), Does::Nothing),
    plain("disable", Some('q'), Does::Nothing),
    plain("parallel", Some('Z'), Does::Nothing),
    plain("create-dirs", None, Does::Nothing),
    plain("remote-name", Some('O'), Does::Nothing),
    plain("remote-header-name", Some('J'), Does::Nothing),
    plain("raw", None, Does::Nothing),
    plain("ipv4", Some('4'), Does::Nothing),
    plain("tcp-nodelay", None, Does::Nothing),
    plain("styled-output", None, Does::Nothing),
    with("output", Some('o'), Does::Nothing),
    with("output-dir", None, Does::Nothing),
    with("write-out", Some('w'), Does::Nothing),
    with("dump-header", Some('D'), Does::Nothing),
    with("cookie-jar", Some('c'), Does::Nothing),
    with("stderr", None, Does::Nothing),
    with("trace", None, Does::Nothing),
    with("trace-ascii", None, Does::Nothing),
    plain("trace-time", None, Does::Nothing),
    with("connect-timeout", None, Does::Nothing),
    with("keepalive-time", None, Does::Nothing),
    with("speed-limit", Some('Y'), Does::Nothing),
    with("speed-time", Some('y'), Does::Nothing),
    with("retry", None, Does::Nothing),
    with("retry-delay", None, Does::Nothing),
    with("retry-max-time", None, Does::Nothing),
    plain("retry-all-errors", None, Does::Nothing),
    plain("retry-connrefused", None, Does::Nothing),
    with("max-redirs", None, Does::Nothing),
    plain("junk-session-cookies", Some('j'), Does::Nothing),
    plain("ipv6", Some('6'), Does::Left),
    plain("no-keepalive", None, Does::Left),
    plain("tr-encoding", None, Does::Left),
    plain("ssl", None, Does::Left),
    plain("ssl-reqd", None, Does::Left),
    plain("tlsv1", Some('1'), Does::Left),
    plain("tlsv1.0", None, Does::Left),
    plain("tlsv1.1", None, Does::Left),
    plain("netrc", Some('n'), Does::Left),
    with("netrc-file", None, Does::Left),
    with("resolve", None, Does::Left),
    with("connect-to", None, Does::Left),
    with("interface", None, Does::Left),
    with("local-port", None, Does::Left),
    with("dns-servers", None, Does::Left),
    with("noproxy", None, Does::Nothing),
    with("ciphers", None, Does::Left),
    with("tls13-ciphers", None, Does::Left),
    with("curves", None, Does::Left),
    with("capath", None, Does::Left),
    with("cert-type", None, Does::Left),
    with("key-type", None, Does::Left),
    with("pass", None, Does::Refused("the key must not be encrypted")),
    with("pinnedpubkey", None, Does::Left),
    with("limit-rate", None, Does::Left),
    with("time-cond", Some('z'), Does::Left),
    with("continue-at", Some('C'), Does::Left),
    with("expect100-timeout", None, Does::Left),
];
