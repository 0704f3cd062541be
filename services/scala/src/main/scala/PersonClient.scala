package weigh

import cats.effect.IO
import fs2.Chunk
import org.http4s.{MediaType, Method, Response, Status}

import java.nio.charset.StandardCharsets.UTF_8

/** How a peer that offers the workload person is called over a framing. A reply that is *not found* is none. */
trait PersonCalls:
  val codec: Codec

  def listPersons: IO[Option[codec.PersonList]]
  def getPerson(id: String): IO[Option[codec.Person]]
  def getPersonLinks(id: String): IO[Option[codec.PersonLinkList]]
  def createPerson(person: codec.Person): IO[Option[codec.Person]]

/** The workload person-client: calls a peer and tells how long that took, for any framing and codec. */
object PersonClient:
  /** The paths of the workload. */
  def routes(calls: PersonCalls): List[Server.Route] =
    val handlers = PersonClient(calls)
    List(
      Server.Route(Method.GET, "/call/listPersons", handlers.listPersons),
      Server.Route(Method.GET, "/call/getPerson/{id}", handlers.getPerson),
      Server.Route(Method.GET, "/call/getPersonLinks/{id}", handlers.getPersonLinks),
      Server.Route(Method.POST, "/call/createPerson", handlers.createPerson)
    )

final class PersonClient private (calls: PersonCalls):
  import calls.codec
  import codec.given

  /** Answers GET /call/listPersons. */
  private def listPersons: Server.Handler = _ => timed(calls.listPersons)

  /** Answers GET /call/getPerson/{id}. */
  private def getPerson: Server.Handler = question => timed(calls.getPerson(question.parameters.head))

  /** Answers GET /call/getPersonLinks/{id}. */
  private def getPersonLinks: Server.Handler = question => timed(calls.getPersonLinks(question.parameters.head))

  /** Answers POST /call/createPerson: its body is decoded before the time begins. */
  private def createPerson: Server.Handler = question =>
    Json.persons
      .decode(question.body.toArray)
      .map(codec.person)
      .fold(
        _ => IO.pure(Server.problem(Status.BadRequest, "the body is no person in `application/json`")),
        person => timed(calls.createPerson(person))
      )

  /** Makes a call, reads every field of its reply, and tells how long both took. */
  private def timed[M: Fields](call: => IO[Option[M]]): IO[Response[IO]] =
    IO.defer(call).map(digest).timed.attempt.map {
      case Right((duration, digest)) =>
        val text = s"{\"duration_ns\": ${duration.toNanos}, \"calls\": 1, \"digest\": \"$digest\"}"
        Server.reply(Status.Ok, MediaType.application.json, Chunk.array(text.getBytes(UTF_8)))
      case Left(_) => Server.problem(Status.BadGateway, "the peer gave no reply of this operation")
    }

  private def digest[M](reply: Option[M])(using fields: Fields[M]): String =
    val digest = Digest()
    reply.fold(digest.add("not found"))(fields.addTo(digest, _))
    digest.hex
