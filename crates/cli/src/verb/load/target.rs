//! What `weigh load` asks, and by which stack: from the words typed to a workload and a protocol.
//!
//! It opens no connection but to ask for descriptors (`--reflection`), and reads no file but a body and `.proto` files.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;
use weighbridge_conductor::described::describe;
use weighbridge_model::experiment::{
    CallSpec, DescriptorSource, Equality, MessageSending, Protocol, ReplyCheck, RequestSpec, Url,
    WorkloadSpec, parse_method,
};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_workload::proto;

use crate::args::Load;

/// What is asked of whom.
#[derive(Debug)]
pub struct Target {
    /// At least one.
    pub urls: Vec<Url>,
    /// The stack.
    pub protocol: Protocol,
    /// The method, where it is a call over gRPC.
    method: Option<String>,
}

impl Target {
    /// Reads URLs and the flags that choose a protocol.
    pub fn read(arguments: &Load) -> anyhow::Result<Self> {
        let mut method =
            arguments.grpc.call.as_deref().map(parse_method).transpose().map_err(anyhow::Error::msg)?;
        let mut urls = Vec::new();
        for text in &arguments.urls {
            let Some(rest) = text.strip_prefix("grpc://") else {
                urls.push(Url::parse(text).map_err(anyhow::Error::msg)?);
                continue;
            };
            let mut url = Url::parse(&format!("http://{rest}")).map_err(anyhow::Error::msg)?;
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
        let over_grpc = method.is_some() || arguments.urls.iter().any(|url| url.starts_with("grpc://"));
        let protocol = match (over_grpc, arguments.http2) {
            (true, _) => Protocol::Grpc,
            (false, true) => Protocol::Http2Json,
            (false, false) => Protocol::Http1Json,
        };
        let target = Self { urls, protocol, method };
        target.check(arguments)?;
        Ok(target)
    }

    /// Refuses flags that mean nothing by this protocol.
    fn check(&self, arguments: &Load) -> anyhow::Result<()> {
        let grpc = &arguments.grpc;
        if self.protocol == Protocol::Http1Json && arguments.streams.is_some() {
            bail!("`--streams` belongs to HTTP/2; add `--http2`, or use `--pipeline`");
        }
        if self.protocol != Protocol::Http1Json && arguments.pipeline > 1 {
            bail!("`--pipeline` belongs to HTTP/1.1; use `--streams`");
        }
        if self.protocol == Protocol::Grpc {
            let http =
                arguments.method.is_some() || arguments.body.is_some() || arguments.body_file.is_some();
            if http || !arguments.headers.is_empty() {
                bail!(
                    "a call over gRPC has no method, header or body; use `--grpc`, `--metadata` and `--data`"
                );
            }
            if self.method.is_none() {
                bail!(
                    "which method? write `grpc://host:port/package.Service/Method`, or add `--grpc package.Service/Method`"
                );
            }
            if grpc.proto.is_none() && !grpc.reflection {
                bail!("who describes the method? add `--proto FILE`, or `--reflection` to ask the server");
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

    /// What is asked. A server is asked to describe a call where that was wanted, within `timeout`.
    pub fn workload(
        &self,
        arguments: &Load,
        connect_to: Option<&(String, u16)>,
        timeout: Nanoseconds,
    ) -> anyhow::Result<WorkloadSpec> {
        let Some(method) = &self.method else { return request(arguments) };
        let source = match &arguments.grpc.proto {
            None => DescriptorSource::Reflection,
            Some(file) => {
                let include: Vec<_> =
                    arguments.grpc.include.iter().map(|folder| folder.display().to_string()).collect();
                proto::compile(&file.display().to_string(), &include, Path::new("."))?
            }
        };
        let spec =
            WorkloadSpec::Grpc { source, calls: vec![call(method, arguments)?], equal: Equality::Status };
        Ok(describe(&spec, (&self.urls[0], connect_to), timeout)?)
    }
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

/// `name: value`.
fn pair(what: &str, text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) =
        text.split_once(':').with_context(|| format!("{what} `{text}` has no colon; write `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn request(arguments: &Load) -> anyhow::Result<WorkloadSpec> {
    let body = match (&arguments.body, &arguments.body_file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => read_body(path)?,
        (None, None) => Vec::new(),
    };
    let method =
        arguments.method.clone().unwrap_or_else(|| if body.is_empty() { "GET" } else { "POST" }.to_owned());
    let headers = arguments.headers.iter().map(|text| pair("header", text));
    let request = RequestSpec {
        name: "request".to_owned(),
        method: method.to_uppercase(),
        path: String::new(),
        headers: headers.collect::<anyhow::Result<_>>()?,
        body,
        weight: 1.0,
        check: ReplyCheck::default(),
    };
    Ok(WorkloadSpec::Http { requests: vec![request], equal: Equality::Status })
}

fn read_body(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut body).context("could not read stdin")?;
        return Ok(body);
    }
    std::fs::read(path).with_context(|| format!("could not read the body `{}`", path.display()))
}
