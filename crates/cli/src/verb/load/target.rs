//! What `weigh load` requests, and by which stack: turns the arguments into a workload and a protocol.
//!
//! It opens a connection only to ask for descriptors (`--reflection`), and reads only a body and `.proto`
//! files.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;
use weighbridge_conductor::descriptors::describe;
use weighbridge_model::experiment::{
    CallSpec, CommandSpec, CommandsSpec, DescriptorSource, Equality, GrpcSpec, HttpSpec, MessageSending,
    Protocol, ReplyCheck, RequestSpec, RespSetup, RespVersion, Scenario, Scheme, Template, TypedUrl, Url,
    WorkloadSpec, parse_method, typed_schemes,
};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::secret::shown_path;
use weighbridge_workload::proto;

use crate::args::Load;

/// What `-X` means with a URL of HTTP.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// What to request, and from which URLs.
#[derive(Debug)]
pub struct Target {
    /// At least one.
    pub urls: Vec<Url>,
    /// What the user calls each; empty where it has no name.
    pub names: Vec<String>,
    /// The stack of `http://` addresses.
    protocol: Protocol,
    /// The method of a call over gRPC.
    method: Option<String>,
}

impl Target {
    /// Reads URLs and the flags that choose a protocol.
    pub fn read(arguments: &Load) -> anyhow::Result<Self> {
        let mut method =
            arguments.grpc.call.as_deref().map(parse_method).transpose().map_err(anyhow::Error::msg)?;
        let (mut urls, mut names) = (Vec::new(), Vec::new());
        let mut over_grpc = method.is_some();
        for text in &arguments.urls {
            let (name, text) = named(text);
            refuse_number(text)?;
            names.push(name.to_owned());
            let TypedUrl { mut url, protocol } = TypedUrl::parse(text).map_err(anyhow::Error::msg)?;
            if protocol != Some(Protocol::GRPC) {
                urls.push(url);
                continue;
            }
            over_grpc = true;
            if url.path != "/" {
                let named = parse_method(&url.path).map_err(anyhow::Error::msg)?;
                match &method {
                    Some(other) if *other != named => {
                        bail!("`{named}` and `{other}` are two methods; several URLs are weighed by one")
                    }
                    _ => method = Some(named),
                }
            }
            url.path = "/".to_owned();
            urls.push(url);
        }
        let protocol = match (over_grpc, arguments.http2) {
            (true, _) => Protocol::GRPC,
            (false, true) => Protocol::HTTP2_JSON,
            (false, false) => Protocol::HTTP1_JSON,
        };
        let target = Self { urls, names, protocol, method };
        target.check(arguments)?;
        Ok(target)
    }

    /// The stack for one of the URLs.
    pub fn protocol_of(&self, url: &Url) -> Protocol {
        if is_web(url) { self.protocol } else { url.scheme.protocol() }
    }

    /// Refuses flags that have no meaning for this protocol.
    fn check(&self, arguments: &Load) -> anyhow::Result<()> {
        self.check_scheme(arguments)?;
        let grpc = &arguments.grpc;
        if self.protocol == Protocol::HTTP1_JSON && arguments.streams.is_some() {
            bail!("`--streams` belongs to HTTP/2; add `--http2`, or use `--pipeline`");
        }
        if self.protocol != Protocol::HTTP1_JSON && arguments.pipeline > 1 {
            bail!("`--pipeline` belongs to HTTP/1.1; use `--streams`");
        }
        if self.protocol == Protocol::GRPC {
            let has_body =
                arguments.body.is_some() || arguments.json.is_some() || arguments.body_file.is_some();
            if arguments.method.is_some()
                || has_body
                || !arguments.headers.is_empty()
                || !arguments.mix.is_empty()
            {
                bail!(
                    "a call over gRPC has no method, header, body or mix; use `--grpc`, `--metadata` and `--data`, and for several calls an experiment"
                );
            }
            if self.method.is_none() {
                bail!(
                    "which method? write `grpc://host:port/package.Service/Method`, or add `--grpc package.Service/Method`"
                );
            }
            if grpc.proto.is_none() && !grpc.reflection {
                bail!(
                    "the method has no description; add `--proto FILE`, or `--reflection` to ask the server"
                );
            }
        } else if grpc.proto.is_some()
            || grpc.reflection
            || grpc.data.is_some()
            || grpc.deadline.is_some()
            || !grpc.metadata.is_empty()
        {
            bail!(
                "`--proto`, `--reflection`, `--data`, `--metadata` and `--deadline` belong to gRPC; add `--grpc package.Service/Method`"
            );
        }
        Ok(())
    }

    /// Refuses flags that have no meaning for the scheme of these addresses.
    fn check_scheme(&self, arguments: &Load) -> anyhow::Result<()> {
        let only = |scheme: fn(&Url) -> bool| self.urls.iter().all(scheme);
        let of_redis = [
            ("--resp", arguments.resp != 2),
            ("--username", arguments.username.is_some()),
            ("--password", arguments.password.is_some()),
        ];
        if let Some((flag, _)) = of_redis.iter().find(|(_, given)| *given)
            && !self.urls.iter().any(|url| matches!(url.scheme, Scheme::Redis | Scheme::Rediss))
        {
            bail!("`{flag}` belongs to `redis://`; leave it out");
        }
        if arguments.username.is_some() && arguments.password.is_none() {
            bail!("`--username` needs a `--password`, such as `--password env:NAME`");
        }
        if arguments.http2 && only(|url| !is_web(url)) {
            bail!("`--http2` belongs to `http://` and `https://`; leave it out");
        }
        Ok(())
    }

    /// The workload. With `--reflection` the server is asked for descriptors, within `timeout`.
    pub fn workload(
        &self,
        arguments: &Load,
        connect_to: Option<&(String, u16)>,
        timeout: Nanoseconds,
    ) -> anyhow::Result<WorkloadSpec> {
        let Some(method) = &self.method else { return plain(arguments, &self.urls) };
        let source = match &arguments.grpc.proto {
            None => DescriptorSource::Reflection,
            Some(file) => {
                let include: Vec<_> =
                    arguments.grpc.include.iter().map(|folder| folder.display().to_string()).collect();
                proto::compile(&file.display().to_string(), &include, Path::new("."))?
            }
        };
        let spec = WorkloadSpec::Grpc(GrpcSpec {
            source,
            calls: vec![call(method, arguments)?],
            equal: Equality::Status,
        });
        let tls = super::tls_spec(&arguments.tls, &self.urls[0])?;
        Ok(describe(&spec, &self.urls[0], connect_to, arguments.unix.as_deref(), tls.as_ref(), timeout)?)
    }
}

/// `name=URL` in its parts. Before the first `=` of an address stands its scheme or its host.
fn named(text: &str) -> (&str, &str) {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && !name.contains(['/', ':', '?', '.']) => (name, url),
        _ => ("", text),
    }
}

/// Refuses a bare number, the value of a flag that another program has: as a host it would be an address.
fn refuse_number(text: &str) -> anyhow::Result<()> {
    if text.parse::<f64>().is_err() || !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(());
    }
    let port = text.parse::<u16>().map_or_else(
        |_| String::new(),
        |port| format!(", for a port of this machine `http://127.0.0.1:{port}/`"),
    );
    bail!(
        "`{text}` is a number, not a URL; for a rate write `--rate {text}` (`-q` is `--quiet`), for connections `--connections {text}`, for the number of requests `--requests {text}`{port}"
    );
}

fn call(method: &str, arguments: &Load) -> anyhow::Result<CallSpec> {
    let grpc = &arguments.grpc;
    let mut call = CallSpec::new(method);
    if let Some(data) = &grpc.data {
        let value: Value = serde_json::from_str(data)
            .with_context(|| format!("`--data {data}` is not JSON; write an object, or a list of them"))?;
        call.messages = match value {
            Value::Array(messages) => messages,
            message => vec![message],
        };
    }
    if grpc.alternating {
        call.sending = MessageSending::Alternating;
    }
    call.deadline = grpc.deadline;
    call.metadata = grpc.metadata.iter().map(|text| pair("metadata", text)).collect::<anyhow::Result<_>>()?;
    Ok(call)
}

/// Whether the URL's requests are HTTP.
fn is_web(url: &Url) -> bool {
    carries_http(url.scheme)
}

fn carries_http(scheme: Scheme) -> bool {
    scheme.carries(Protocol::HTTP1_JSON)
}

/// Parses `name: value`.
fn pair(what: &str, text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) =
        text.split_once(':').with_context(|| format!("{what} `{text}` has no colon; write `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// HTTP requests, or commands of memcached and Redis.
fn plain(arguments: &Load, urls: &[Url]) -> anyhow::Result<WorkloadSpec> {
    if urls.iter().all(is_web) {
        let is_method = |command: &String| METHODS.contains(&command.to_uppercase().as_str());
        if !arguments.commands.is_empty() && !matches!(&arguments.commands[..], [one] if is_method(one)) {
            let schemes = typed_schemes(|scheme| !carries_http(scheme));
            bail!("`--command` belongs to {schemes}; HTTP takes `--method` and `--body`");
        }
        return http(arguments);
    }
    if urls.iter().any(is_web) {
        bail!("HTTP requests and commands are different work and cannot be weighed against each other");
    }
    commands(arguments)
}

fn commands(arguments: &Load) -> anyhow::Result<WorkloadSpec> {
    let http_only = [
        ("--method", arguments.method.is_some()),
        ("--header", !arguments.headers.is_empty()),
        ("--body", arguments.body.is_some()),
        ("--json", arguments.json.is_some()),
        ("--body-file", arguments.body_file.is_some()),
        ("--mix", !arguments.mix.is_empty()),
    ];
    if let Some((flag, _)) = http_only.iter().find(|(_, given)| *given) {
        bail!("`{flag}` belongs to HTTP; write the whole command, such as `--command 'SET k v'`");
    }
    if arguments.commands.is_empty() {
        bail!("no command; give one or more, such as `--command 'GET key:1'`");
    }
    let mut commands: Vec<CommandSpec> = Vec::new();
    for text in &arguments.commands {
        let command = CommandSpec::parse(text).map_err(anyhow::Error::msg);
        let mut command = command.with_context(|| format!("`--command {text}` cannot be read"))?;
        if commands.iter().any(|other| other.name == command.name) {
            command.name = format!("{} #{}", command.name, commands.len() + 1);
        }
        commands.push(command);
    }
    let version = if arguments.resp == 3 { RespVersion::Three } else { RespVersion::Two };
    let (username, password) = (arguments.username.clone(), arguments.password.clone());
    let setup = RespSetup { version, username, password, database: 0 };
    Ok(WorkloadSpec::Commands(CommandsSpec { commands, equal: Equality::Status, setup }))
}

fn http(arguments: &Load) -> anyhow::Result<WorkloadSpec> {
    let body = match arguments.json.as_deref().or(arguments.body.as_deref()) {
        Some(text) => match text.strip_prefix('@') {
            Some(path) => template_of(read_body(Path::new(path))?),
            None => Template::escaped(text).into_bytes(),
        },
        None => arguments.body_file.as_deref().map(read_body).transpose()?.map_or_else(Vec::new, template_of),
    };
    let given = arguments.method.as_ref().or(arguments.commands.first());
    let method = given.cloned().unwrap_or_else(|| if body.is_empty() { "GET" } else { "POST" }.to_owned());
    let header = |text: &String| pair("header", text);
    let mut headers: Vec<(String, String)> =
        arguments.headers.iter().map(header).collect::<anyhow::Result<_>>()?;
    for name in ["Content-Type", "Accept"].into_iter().filter(|_| arguments.json.is_some()) {
        if !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), "application/json".to_owned()));
        }
    }
    let request = RequestSpec {
        name: "request".to_owned(),
        method: method.to_uppercase(),
        path: String::new(),
        headers,
        body,
        weight: 1.0,
        check: ReplyCheck::default(),
        extract: Vec::new(),
    };
    let requests = match &arguments.mix[..] {
        [] => vec![request],
        mix => mix.iter().map(|text| mixed(text, &request)).collect::<anyhow::Result<_>>()?,
    };
    if let Some(at) =
        (1..requests.len()).find(|at| requests[..*at].iter().any(|r| r.name == requests[*at].name))
    {
        bail!("`--mix` names `{}` twice; give it once, with the sum of its weights", requests[at].name);
    }
    Ok(WorkloadSpec::Http(HttpSpec { requests, equal: Equality::Status, scenario: Scenario::default() }))
}

/// `[WEIGHT] METHOD PATH` as a request with the headers of `like`, and its body if the method takes one.
fn mixed(text: &str, like: &RequestSpec) -> anyhow::Result<RequestSpec> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (weight, method, path) = match words[..] {
        [weight, method, path] => (weight, method, path),
        [method, path] => ("1", method, path),
        _ => bail!("`--mix {text}` is not `[WEIGHT] METHOD PATH`, such as `9 GET /items/1`"),
    };
    let weight: f64 = match weight.parse() {
        Ok(weight) if weight > 0.0 && f64::is_finite(weight) => weight,
        _ => bail!("`--mix {text}`: `{weight}` is not a weight; give a number above zero"),
    };
    if !(path.starts_with('/') || path.starts_with('?')) {
        bail!("`--mix {text}`: path `{path}` must start with `/`");
    }
    let method = method.to_uppercase();
    let body =
        if matches!(method.as_str(), "POST" | "PUT" | "PATCH") { like.body.clone() } else { Vec::new() };
    let (name, path) = (format!("{method} {}", shown_path(path)), Template::escaped(path));
    Ok(RequestSpec { name, method, path, weight, body, ..like.clone() })
}

/// Bytes that are not text cannot be a template either.
fn template_of(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => Template::escaped(&text).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

fn read_body(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut body).context("could not read stdin")?;
        return Ok(body);
    }
    std::fs::read(path).with_context(|| format!("could not read the body `{}`", path.display()))
}
