//! Protocols: how messages are framed, and how their content is encoded.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::node::{ExperimentError, Node, Reader, Value, suggestion};

/// A framing, and the codec of what it carries. Only the pairs of [`Protocol::NAMED`] exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    framing: FramingName,
    codec: Option<CodecName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingName {
    Http1,
    /// Without TLS by prior knowledge, with TLS by ALPN.
    Http2,
    Grpc,
    /// memcached's text protocol, its meta commands included.
    Memcached,
    /// Redis' protocol, versions 2 and 3.
    Resp,
    /// Thrift's messages over TCP, each behind its length.
    Thrift,
    /// SOAP 1.1 in requests and responses of HTTP/1.1.
    Soap,
    /// None: operations run in the service's own process.
    Direct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodecName {
    Json,
    Protobuf,
    Avro,
    /// Thrift's binary protocol.
    Binary,
    /// Thrift's compact protocol.
    Compact,
    Xml,
}

/// A protocol and its name in TOML and in a service's `PROTOCOL`.
#[derive(Debug, Clone, Copy)]
pub struct NamedProtocol {
    pub name: &'static str,
    pub protocol: Protocol,
}

impl FramingName {
    const ALL: [Self; 8] = [
        Self::Http1,
        Self::Http2,
        Self::Grpc,
        Self::Memcached,
        Self::Resp,
        Self::Thrift,
        Self::Soap,
        Self::Direct,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Grpc => "grpc",
            Self::Memcached => "memcached",
            Self::Resp => "resp",
            Self::Thrift => "thrift",
            Self::Soap => "soap",
            Self::Direct => "direct",
        }
    }

    /// Whether replies come in the order of their requests, so that several in flight wait for each other.
    pub const fn is_in_order(self) -> bool {
        !matches!(self, Self::Http2 | Self::Grpc)
    }

    /// Whether its messages are requests and responses of HTTP of any version.
    pub const fn is_http(self) -> bool {
        self.is_http2() || matches!(self, Self::Http1 | Self::Soap)
    }

    pub const fn is_http2(self) -> bool {
        matches!(self, Self::Http2 | Self::Grpc)
    }
}

impl CodecName {
    pub const ALL: [Self; 6] =
        [Self::Json, Self::Protobuf, Self::Avro, Self::Binary, Self::Compact, Self::Xml];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
            Self::Avro => "avro",
            Self::Binary => "binary",
            Self::Compact => "compact",
            Self::Xml => "xml",
        }
    }
}

impl CodecName {
    /// Its media type over HTTP.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/protobuf",
            Self::Avro => "avro/binary",
            Self::Binary | Self::Compact => "application/x-thrift",
            Self::Xml => "text/xml; charset=utf-8",
        }
    }
}

impl Protocol {
    pub const HTTP1_JSON: Self = Self::with_codec(FramingName::Http1, CodecName::Json);
    pub const HTTP2_JSON: Self = Self::with_codec(FramingName::Http2, CodecName::Json);
    pub const GRPC: Self = Self::with_codec(FramingName::Grpc, CodecName::Protobuf);
    pub const THRIFT_BINARY: Self = Self::with_codec(FramingName::Thrift, CodecName::Binary);
    pub const THRIFT_COMPACT: Self = Self::with_codec(FramingName::Thrift, CodecName::Compact);
    pub const MEMCACHED: Self = Self { framing: FramingName::Memcached, codec: None };
    pub const RESP: Self = Self { framing: FramingName::Resp, codec: None };
    pub const DIRECT: Self = Self { framing: FramingName::Direct, codec: None };

    /// Every protocol with its name. Of a framing's protocols the first is taken where no codec is named.
    pub const NAMED: [NamedProtocol; 15] = [
        Self::HTTP1_JSON.called("http1-json"),
        Self::with_codec(FramingName::Http1, CodecName::Protobuf).called("http1-protobuf"),
        Self::with_codec(FramingName::Http1, CodecName::Avro).called("http1-avro"),
        Self::HTTP2_JSON.called("http2-json"),
        Self::with_codec(FramingName::Http2, CodecName::Protobuf).called("http2-protobuf"),
        Self::with_codec(FramingName::Http2, CodecName::Avro).called("http2-avro"),
        Self::GRPC.called("grpc"),
        Self::with_codec(FramingName::Grpc, CodecName::Json).called("grpc-json"),
        Self::with_codec(FramingName::Grpc, CodecName::Avro).called("grpc-avro"),
        Self::THRIFT_BINARY.called("thrift-binary"),
        Self::THRIFT_COMPACT.called("thrift-compact"),
        Self::with_codec(FramingName::Soap, CodecName::Xml).called("soap"),
        Self::MEMCACHED.called("memcached"),
        Self::RESP.called("resp"),
        Self::DIRECT.called("direct"),
    ];

    const fn with_codec(framing: FramingName, codec: CodecName) -> Self {
        Self { framing, codec: Some(codec) }
    }

    const fn called(self, name: &'static str) -> NamedProtocol {
        NamedProtocol { name, protocol: self }
    }

    pub const fn framing(self) -> FramingName {
        self.framing
    }

    /// `None` if the framing determines the content.
    pub const fn codec(self) -> Option<CodecName> {
        self.codec
    }

    /// Whether messages are requests and responses of HTTP of any version.
    pub const fn is_http(self) -> bool {
        self.framing.is_http()
    }

    /// Whether it is a REST interface: paths and media types of HTTP.
    pub const fn is_rest(self) -> bool {
        matches!(self.framing, FramingName::Http1 | FramingName::Http2)
    }

    /// Whether its messages are calls of gRPC, whatever their codec.
    pub const fn has_calls(self) -> bool {
        matches!(self.framing, FramingName::Grpc)
    }

    /// Its name in TOML and in a service's `PROTOCOL`.
    pub fn name(self) -> &'static str {
        let row = Self::NAMED.into_iter().find(|row| row.protocol == self);
        row.expect("every protocol that can be made is named").name
    }

    fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|row| row.name == name).map(|row| row.protocol)
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self::HTTP1_JSON
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| de::Error::custom(format!("no protocol `{name}`")))
    }
}

/// Reads `protocol`: a name, or a table of `framing` and `codec`, which a matrix can vary separately.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<Protocol>, ExperimentError> {
    match reader.node("protocol") {
        Some(Node { value: Value::Table(_), .. }) => {
            let Some(halves) = reader.table("protocol")? else { return Ok(None) };
            let protocol = read_halves(&halves)?;
            halves.finish()?;
            Ok(Some(protocol))
        }
        _ => {
            let named = Protocol::NAMED.map(|row| (row.name, row.protocol));
            // By its halves as the others are, beside the name that it had before there were several.
            reader.choice("protocol", &[&named[..], &[("grpc-protobuf", Protocol::GRPC)]].concat())
        }
    }
}

fn read_halves(reader: &Reader<'_>) -> Result<Protocol, ExperimentError> {
    let framing = reader.choice("framing", &FramingName::ALL.map(|framing| (framing.name(), framing)))?;
    let codec = reader.choice("codec", &CodecName::ALL.map(|codec| (codec.name(), codec)))?;
    let Some(framing) = framing else {
        return Err(reader.error(reader.line(), "`protocol` lacks `framing`, such as `framing = \"http1\"`"));
    };
    let carried = Protocol::NAMED.into_iter().map(|row| row.protocol).filter(|one| one.framing == framing);
    let mut chosen = carried.clone().filter(|one| codec.is_none() || one.codec == codec);
    chosen.next().ok_or_else(|| {
        let codecs: Vec<_> = carried.filter_map(|one| one.codec).map(CodecName::name).collect();
        let asked = codec.map_or("none", CodecName::name);
        let advice = match codecs.is_empty() {
            true => "; leave `codec` out".to_owned(),
            false => suggestion(asked, &codecs),
        };
        let message = format!("framing `{}` carries no codec `{asked}`{advice}", framing.name());
        reader.error(reader.node("codec").map_or(reader.line(), |node| node.line), message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    fn parsed(protocol: &str) -> Result<Protocol, String> {
        let text =
            format!("[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'go'\nprotocol = {protocol}\n");
        let experiment = Experiment::parse("x.toml", &text).map_err(|error| error.to_string())?;
        Ok(experiment.variants[0].protocol)
    }

    #[test]
    fn each_protocol_is_read_by_its_name_and_by_its_halves() {
        for row in Protocol::NAMED {
            let (framing, codec) = (row.protocol.framing(), row.protocol.codec());
            let codec = codec.map_or(String::new(), |codec| format!(", codec = '{}'", codec.name()));
            assert_eq!(row.protocol.name(), row.name);
            assert_eq!(Protocol::named(row.name), Some(row.protocol));
            let text = format!("[x]\nprotocol = {{ framing = '{}'{codec} }}", framing.name());
            let root = Node::parse("x.toml", &text).expect("TOML");
            let root = Reader::new("x.toml", "", &root).expect("a table");
            let table = root.table("x").expect("a table").expect("it is there");
            assert_eq!(read(&table).expect("a protocol"), Some(row.protocol), "{text}");
        }
    }

    #[test]
    fn a_framing_alone_has_its_first_codec() {
        assert_eq!(parsed("{ framing = 'http2' }"), Ok(Protocol::HTTP2_JSON));
        assert_eq!(parsed("{ framing = 'grpc' }"), Ok(Protocol::GRPC));
    }

    #[test]
    fn a_matrix_varies_framing_and_codec() {
        let text = "[workload]\nname = 'pingpong'\n[matrix]\nservice = ['go']\nprotocol.framing = \
                    ['http1', 'http2']\nprotocol.codec = ['json']\n";
        let experiment = Experiment::parse("x.toml", text).expect("an experiment");
        let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["go/http1/json", "go/http2/json"]);
        assert_eq!(experiment.variants[1].protocol, Protocol::HTTP2_JSON);
    }

    #[test]
    fn soap_is_carried_by_http() {
        let text = "[workload]\nname = 'person'\n[[variant]]\nurl = 'http://[::1]:1'\nprotocol = 'soap'\n";
        let experiment = Experiment::parse("x.toml", text).expect("an experiment");
        assert_eq!(experiment.variants[0].protocol.name(), "soap");
        let error = Experiment::parse("x.toml", &text.replace("soap", "resp")).expect_err("no HTTP");
        assert!(error.to_string().contains("resp"), "{error}");
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (protocol, expected) in [
            ("{ framing = 'http3' }", "`http3` is not known"),
            ("{ codec = 'json' }", "lacks `framing`"),
            (
                "{ framing = 'thrift', codec = 'json' }",
                "carries no codec `json`; allowed: `binary`, `compact`",
            ),
            ("{ framing = 'resp', codec = 'json' }", "leave `codec` out"),
            ("{ framing = 'http1', coding = 'json' }", "unknown key `coding`"),
        ] {
            let error = parsed(protocol).expect_err(protocol);
            assert!(error.contains(expected), "{protocol}: {error}");
        }
    }
}
