package weigh

import cats.effect.{IO, Resource}
import cats.syntax.all.*
import com.comcast.ip4s.{IpAddress, SocketAddress}
import fs2.Chunk
import org.http4s.*
import org.http4s.client.Client
import org.http4s.headers.`Content-Type`

/** Calls a peer of the workload person over HTTP, with http4s' Ember client. */
final class PersonHttpClient private (val codec: Codec, persons: Uri, client: Client[IO]) extends PersonCalls:
  import codec.given

  def listPersons: IO[Option[codec.PersonList]] = client.expectOption(Request[IO](Method.GET, persons))

  def getPerson(id: String): IO[Option[codec.Person]] = client.expectOption(Request[IO](Method.GET, persons / id))

  def getPersonLinks(id: String): IO[Option[codec.PersonLinkList]] =
    client.expectOption(Request[IO](Method.GET, persons / id / "links"))

  def createPerson(person: codec.Person): IO[Option[codec.Person]] =
    val body = Chunk.byteBuffer(codec.persons.encode(person))
    val request = Request[IO](Method.POST, persons).withEntity(body)
    client.expectOption(request.withContentType(`Content-Type`(codec.mediaType)))

  private given [M](using format: Format[M]): EntityDecoder[IO, M] =
    EntityDecoder.decodeBy(codec.mediaType) { reply =>
      DecodeResult(reply.body.compile.to(Chunk).map { body =>
        val message = format.decode(body.toArray).toEither
        message.leftMap(cause => MalformedMessageBodyFailure("the reply cannot be read", Some(cause)))
      })
    }

object PersonHttpClient:
  /** Calls to that peer, through one pool of connections. */
  def over(codec: Codec, peer: SocketAddress[IpAddress]): Resource[IO, PersonCalls] =
    Ping.client.map(PersonHttpClient(codec, Uri.unsafeFromString(s"http://$peer/person"), _))
