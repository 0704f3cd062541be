//! The codecs of the workload `person`: each encodes the messages of its interface, and decodes them. The messages are
//! prost's types; serde puts them into JSON and Avro.

use std::io::Write;
use std::sync::LazyLock;

use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::writer::datum::GenericDatumWriter;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::person::proto::{
    ListPersonsRequest, Person, PersonId, PersonLinkList, PersonList, VersionReply, VersionRequest,
};

/// A codec over HTTP.
pub trait Codec: Send + Sync + 'static {
    const MEDIA_TYPE: &'static str;

    /// Makes what is made once for all messages.
    fn prepare() {}

    /// The message as a body.
    fn encode<M: Message>(message: &M) -> Vec<u8>;

    /// The message that the bytes hold; the error is what is wrong with them.
    fn decode<M: Message>(bytes: &[u8]) -> Result<M, String>;
}

/// A codec that can be put under gRPC too, where messages are written into the buffer of the connection.
pub trait GrpcCodec: Codec {
    const GRPC_MEDIA_TYPE: &'static str;

    fn write<M: Message>(message: &M, to: &mut impl Write) -> Result<(), String>;
}

/// A message of the interface that is sent or received by itself.
pub trait Message: prost::Message + Default + Serialize + DeserializeOwned + 'static {
    /// How Avro writes and reads it.
    fn datum() -> &'static Datum;
}

// JSON

pub struct Json;

impl Codec for Json {
    const MEDIA_TYPE: &'static str = "application/json";

    fn encode<M: Message>(message: &M) -> Vec<u8> {
        serde_json::to_vec(message).expect(COMPLETE)
    }

    fn decode<M: Message>(bytes: &[u8]) -> Result<M, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

impl GrpcCodec for Json {
    const GRPC_MEDIA_TYPE: &'static str = "application/grpc+json";

    fn write<M: Message>(message: &M, to: &mut impl Write) -> Result<(), String> {
        serde_json::to_writer(to, message).map_err(|error| error.to_string())
    }
}

// Protocol Buffers. Under gRPC it is tonic's own.

pub struct Protobuf;

impl Codec for Protobuf {
    const MEDIA_TYPE: &'static str = "application/protobuf";

    fn encode<M: Message>(message: &M) -> Vec<u8> {
        message.encode_to_vec()
    }

    fn decode<M: Message>(bytes: &[u8]) -> Result<M, String> {
        M::decode(bytes).map_err(|error| error.to_string())
    }
}

// Avro

pub struct Avro;

impl Codec for Avro {
    const MEDIA_TYPE: &'static str = "avro/binary";

    fn prepare() {
        make_datums();
    }

    fn encode<M: Message>(message: &M) -> Vec<u8> {
        M::datum().writer.write_ser_to_vec(message).expect(COMPLETE)
    }

    fn decode<M: Message>(mut bytes: &[u8]) -> Result<M, String> {
        let message = M::datum().reader.read_deser(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.is_empty() { Ok(message) } else { Err(format!("bytes behind the datum: {}", bytes.len())) }
    }
}

impl GrpcCodec for Avro {
    const GRPC_MEDIA_TYPE: &'static str = "application/grpc+avro";

    fn write<M: Message>(message: &M, to: &mut impl Write) -> Result<(), String> {
        M::datum().writer.write_ser(to, message).map(drop).map_err(|error| error.to_string())
    }
}

/// The interface as Avro has it: a union of all records.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::parse_str(include_str!("../../person/person.avsc")).expect("the interface is valid")
});

/// Writes and reads one record of the interface.
pub struct Datum {
    writer: GenericDatumWriter<'static>,
    reader: GenericDatumReader<'static>,
}

impl Datum {
    fn new(record: &str) -> Self {
        let Schema::Union(records) = &*SCHEMA else { unreachable!("the interface is a list of records") };
        let named = |schema: &&Schema| schema.name().is_some_and(|name| name.name() == record);
        let schema = records.variants().iter().find(named).expect("Avro has each message as a record");
        let writer = GenericDatumWriter::builder(schema).schemata(vec![&*SCHEMA]);
        let reader = GenericDatumReader::builder(schema).writer_schemata(vec![&*SCHEMA]);
        Self {
            writer: writer.and_then(|writer| writer.build()).expect(RESOLVED),
            reader: reader.and_then(|reader| reader.build()).expect(RESOLVED),
        }
    }
}

const RESOLVED: &str = "the interface names no record that it does not hold";

/// Puts a message into every codec, and makes its part of Avro once.
macro_rules! messages {
    ($($message:ident)*) => {
        $(impl Message for $message {
            fn datum() -> &'static Datum {
                static DATUM: LazyLock<Datum> = LazyLock::new(|| Datum::new(stringify!($message)));
                &DATUM
            }
        })*

        /// Parses the schemas now, not when the first request comes.
        fn make_datums() {
            $($message::datum();)*
        }
    };
}

messages! { ListPersonsRequest Person PersonId PersonLinkList PersonList VersionReply VersionRequest }

// Fields

/// Why JSON and Avro can encode what was decoded.
const COMPLETE: &str = "a message has all fields that its codec requires";

/// A field that JSON and Avro require: prost's type for any field that is a message is an `Option`.
pub mod required {
    use serde::ser::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(
        field: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match field {
            Some(value) => value.serialize(serializer),
            None => Err(S::Error::custom("a required field is absent")),
        }
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        T::deserialize(deserializer).map(Some)
    }
}
