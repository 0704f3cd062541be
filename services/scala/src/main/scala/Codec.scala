package weigh

import com.sksamuel.avro4s.{AvroInputStream, AvroOutputStream, AvroSchema, Decoder, Encoder, SchemaFor}
import io.circe.{jawn, Decoder as JsonDecoder, Encoder as JsonEncoder, Printer}
import io.circe.syntax.*
import org.apache.avro.generic.{GenericDatumReader, GenericDatumWriter}
import org.apache.avro.io.{DecoderFactory, EncoderFactory}
import org.http4s.MediaType
import scalapb.{GeneratedMessage, GeneratedMessageCompanion}
import scalapb.grpc.Marshaller
import weighbridge.person.v1 as protobuf

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException, InputStream}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import scala.util.Try

/** How a codec writes and reads one type of message. */
trait Format[M]:
  def encode(message: M): ByteBuffer

  /** The message that the bytes hold, with nothing behind it. */
  def decode(bytes: Array[Byte]): Try[M]

  /** The same as `encode` and `decode` for gRPC. */
  def stream(message: M): InputStream =
    val bytes = encode(message)
    ByteArrayInputStream(bytes.array, bytes.arrayOffset + bytes.position, bytes.remaining)
  def parse(bytes: InputStream): Try[M] = decode(bytes.readAllBytes)

/** A codec of the workload person: the types that it serialises, how they are made, and their formats. */
trait Codec:
  type Person
  type PersonId
  type PersonLink
  type PersonList
  type PersonLinkList
  type ListPersonsRequest
  type VersionRequest
  type VersionReply

  def mediaType: MediaType

  def person(read: Model.Person): Person
  def id(request: PersonId): String
  def personId(id: String): PersonId
  def listRequest: ListPersonsRequest
  def link(p1: Person, p2: Person): PersonLink
  def list(persons: Vector[Person]): PersonList
  def linkList(links: Vector[PersonLink]): PersonLinkList
  def versionReply(text: String): VersionReply

  given persons: Format[Person]
  given ids: Format[PersonId]
  given lists: Format[PersonList]
  given linkLists: Format[PersonLinkList]
  given listRequests: Format[ListPersonsRequest]
  given versionRequests: Format[VersionRequest]
  given versionReplies: Format[VersionReply]

  given personFields: Fields[Person]
  given listFields: Fields[PersonList]
  given linkListFields: Fields[PersonLinkList]

/** A codec of the model's own types. */
sealed trait ModelCodec extends Codec:
  type Person = Model.Person
  type PersonId = Model.PersonId
  type PersonLink = Model.PersonLink
  type PersonList = Model.PersonList
  type PersonLinkList = Model.PersonLinkList
  type ListPersonsRequest = Model.ListPersonsRequest
  type VersionRequest = Model.VersionRequest
  type VersionReply = Model.VersionReply

  def person(read: Model.Person): Person = read
  def id(request: PersonId): String = request.id
  def personId(id: String): PersonId = Model.PersonId(id)
  def listRequest: ListPersonsRequest = Model.ListPersonsRequest()
  def link(p1: Person, p2: Person): PersonLink = Model.PersonLink(p1, p2)
  def list(persons: Vector[Person]): PersonList = Model.PersonList(persons, persons.size)
  def linkList(links: Vector[PersonLink]): PersonLinkList = Model.PersonLinkList(links, links.size)
  def versionReply(text: String): VersionReply = Model.VersionReply(text)

  given personFields: Fields[Person] = _.add(_)
  given listFields: Fields[PersonList] = _.add(_)
  given linkListFields: Fields[PersonLinkList] = _.add(_)

// JSON

/** JSON, by circe. */
object Json extends ModelCodec:
  val mediaType: MediaType = MediaType.application.json

  given persons: Format[Person] = format
  given ids: Format[PersonId] = format
  given lists: Format[PersonList] = format
  given linkLists: Format[PersonLinkList] = format
  given listRequests: Format[ListPersonsRequest] = format
  given versionRequests: Format[VersionRequest] = format
  given versionReplies: Format[VersionReply] = format

  private def format[M: JsonEncoder: JsonDecoder]: Format[M] = new Format[M]:
    def encode(message: M): ByteBuffer = Printer.noSpaces.printToByteBuffer(message.asJson, UTF_8)
    def decode(bytes: Array[Byte]): Try[M] = jawn.decodeByteArray(bytes).toTry

// Avro

/** Avro, by avro4s. With `once`, what is made of a type's schema serves all messages; otherwise each makes its own. */
final class Avro(once: Boolean) extends ModelCodec:
  val mediaType: MediaType = MediaType("avro", "binary")

  given persons: Format[Person] = format
  given ids: Format[PersonId] = format
  given lists: Format[PersonList] = format
  given linkLists: Format[PersonLinkList] = format
  given listRequests: Format[ListPersonsRequest] = format
  given versionRequests: Format[VersionRequest] = format
  given versionReplies: Format[VersionReply] = format

  private def format[M: SchemaFor: Encoder: Decoder]: Format[M] = if once then AvroOnce[M] else AvroPerMessage[M]

/** Writes and reads with a schema, an encoder and a decoder that are made once. */
private final class AvroOnce[M: SchemaFor](using encoder: Encoder[M], decoder: Decoder[M]) extends Format[M]:
  private val schema = AvroSchema[M]
  private val encodeDatum = encoder.encode(schema)
  private val decodeDatum = decoder.decode(schema)
  private val writer = GenericDatumWriter[Any](schema)
  private val reader = GenericDatumReader[Any](schema)

  def encode(message: M): ByteBuffer =
    val bytes = ByteArrayOutputStream()
    val encoder = EncoderFactory.get.binaryEncoder(bytes, null)
    writer.write(encodeDatum(message), encoder)
    encoder.flush()
    ByteBuffer.wrap(bytes.toByteArray)

  def decode(bytes: Array[Byte]): Try[M] = Try {
    val decoder = DecoderFactory.get.binaryDecoder(bytes, null)
    val message = decodeDatum(reader.read(null, decoder))
    if !decoder.isEnd then throw IOException("there are bytes behind the datum")
    message
  }

/** Writes and reads as the marshaller of mu-rpc does, through a stream of avro4s for each message. */
private final class AvroPerMessage[M: SchemaFor: Encoder: Decoder] extends Format[M]:
  def encode(message: M): ByteBuffer =
    val bytes = ByteArrayOutputStream()
    val stream = AvroOutputStream.binary[M].to(bytes).build()
    stream.write(message)
    stream.close()
    ByteBuffer.wrap(bytes.toByteArray)

  def decode(bytes: Array[Byte]): Try[M] = Try {
    val messages = AvroInputStream.binary[M].from(ByteArrayInputStream(bytes)).build(AvroSchema[M]).iterator
    val message = messages.next()
    if messages.hasNext then throw IOException("there are bytes behind the datum")
    message
  }

// Protocol Buffers

/** Protocol Buffers, by ScalaPB. */
object Protobuf extends Codec:
  type Person = protobuf.Person
  type PersonId = protobuf.PersonId
  type PersonLink = protobuf.PersonLink
  type PersonList = protobuf.PersonList
  type PersonLinkList = protobuf.PersonLinkList
  type ListPersonsRequest = protobuf.ListPersonsRequest
  type VersionRequest = protobuf.VersionRequest
  type VersionReply = protobuf.VersionReply

  val mediaType: MediaType = MediaType("application", "protobuf")

  def person(read: Model.Person): Person =
    val Model.Person(id, Model.PersonName(title, first, last), gender, location, email, picture) = read
    val Model.Location(street, city, state, postCode) = location
    protobuf.Person(
      id,
      Some(protobuf.PersonName(title, first, last)),
      gender,
      Some(protobuf.Location(street, city, state, postCode)),
      email,
      picture.map { case Model.Picture(large, medium, thumbnail) => protobuf.Picture(large, medium, thumbnail) }
    )
  def id(request: PersonId): String = request.id
  def personId(id: String): PersonId = protobuf.PersonId(id)
  def listRequest: ListPersonsRequest = protobuf.ListPersonsRequest()
  def link(p1: Person, p2: Person): PersonLink = protobuf.PersonLink(Some(p1), Some(p2))
  def list(persons: Vector[Person]): PersonList = protobuf.PersonList(persons, persons.size)
  def linkList(links: Vector[PersonLink]): PersonLinkList = protobuf.PersonLinkList(links, links.size)
  def versionReply(text: String): VersionReply = protobuf.VersionReply(text)

  given personFields: Fields[Person] = _.add(_)
  given listFields: Fields[PersonList] = _.add(_)
  given linkListFields: Fields[PersonLinkList] = _.add(_)

  given persons: Format[Person] = format
  given ids: Format[PersonId] = format
  given lists: Format[PersonList] = format
  given linkLists: Format[PersonLinkList] = format
  given listRequests: Format[ListPersonsRequest] = format
  given versionRequests: Format[VersionRequest] = format
  given versionReplies: Format[VersionReply] = format

  private def format[M <: GeneratedMessage](using messages: GeneratedMessageCompanion[M]): Format[M] = new Format[M]:
    def encode(message: M): ByteBuffer = ByteBuffer.wrap(message.toByteArray)
    def decode(bytes: Array[Byte]): Try[M] = messages.validate(bytes)
    override def stream(message: M): InputStream = marshaller.stream(message)
    override def parse(bytes: InputStream): Try[M] = Try(marshaller.parse(bytes))
    private val marshaller = Marshaller.forMessage[M]
