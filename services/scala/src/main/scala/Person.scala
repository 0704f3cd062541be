package weigh

import cats.syntax.all.*
import com.sksamuel.avro4s.{Decoder, Encoder, SchemaFor}
import io.circe.{jawn, Decoder as JsonDecoder}
import io.circe.Codec.AsObject

import java.nio.file.{Files, Path}
import scala.util.Try

/** The messages of the workload person, but for those of Protocol Buffers, which are generated. */
object Model:
  case class PersonName(title: String, first: String, last: String) derives AsObject, SchemaFor, Encoder, Decoder
  case class Location(street: String, city: String, state: String, postCode: Int)
      derives AsObject,
        SchemaFor,
        Encoder,
        Decoder
  case class Picture(large: String, medium: String, thumbnail: String) derives AsObject, SchemaFor, Encoder, Decoder
  case class Person(
      id: String,
      name: PersonName,
      gender: String,
      location: Location,
      email: String,
      picture: Option[Picture]
  ) derives AsObject,
        SchemaFor,
        Encoder,
        Decoder
  case class PersonId(id: String) derives AsObject, SchemaFor, Encoder, Decoder
  case class PersonLink(p1: Person, p2: Person) derives AsObject, SchemaFor, Encoder, Decoder
  case class PersonList(persons: Vector[Person], count: Int) derives AsObject, SchemaFor, Encoder, Decoder
  case class PersonLinkList(links: Vector[PersonLink], count: Int) derives AsObject, SchemaFor, Encoder, Decoder
  case class ListPersonsRequest() derives AsObject, SchemaFor, Encoder, Decoder
  case class VersionRequest() derives AsObject, SchemaFor, Encoder, Decoder
  case class VersionReply(text: String) derives AsObject, SchemaFor, Encoder, Decoder

/** The persons that are served and their links, in the types that the codec serialises; the operations upon them. */
final class People private (val codec: Codec)(
    persons: Vector[codec.Person],
    byId: Map[String, codec.Person],
    links: Map[String, Vector[codec.PersonLink]]
):
  /** All persons in the order of the file. */
  def listPersons: codec.PersonList = codec.list(persons)

  /** The person with that id. */
  def getPerson(id: String): Option[codec.Person] = byId.get(id)

  /** The links with that id on either side, in the order of the file. */
  def getPersonLinks(id: String): codec.PersonLinkList = codec.linkList(links.getOrElse(id, Vector.empty))

  /** All persons, one by one. */
  def streamPersons: Iterator[codec.Person] = persons.iterator

object People:
  /** The people file as it is written, but for what a client creates. */
  private case class PeopleFile(persons: Vector[Model.Person], links: Vector[(Long, Long)]) derives JsonDecoder

  /** Reads the people file of a folder; on the left is what is wrong with it. */
  def read(codec: Codec, folder: String): Either[Throwable, People] =
    for
      text <- Try(Files.readAllBytes(Path.of(folder, "people.json"))).toEither
      file <- jawn.decodeByteArray[PeopleFile](text)
      persons = file.persons.map(codec.person)
      byId = file.persons.map(_.id).zip(persons).toMap
      _ <- Either.cond(byId.size == persons.size, (), IllegalArgumentException("two persons have the same id"))
      links <- file.links.traverse { (first, second) =>
        (byId.get(first.toString), byId.get(second.toString))
          .mapN((p1, p2) => (Set(first, second).map(_.toString), codec.link(p1, p2)))
          .toRight(IllegalArgumentException(s"the link [$first, $second] does not name two persons"))
      }
      linksById = links.flatMap((ids, link) => ids.toVector.map(_ -> link)).groupMap(_._1)(_._2)
    yield People(codec)(persons, byId, linksById)
