package weigh

import cats.effect.IO
import fs2.Chunk
import org.http4s.{Method, Response, Status}
import org.http4s.headers.`Content-Type`
import org.http4s.util.Renderer

/** The workload person over HTTP: handlers only, for any codec. */
object PersonHttp:
  /** The paths of the workload. */
  def routes(people: People): List[Server.Route] =
    val handlers = PersonHttp(people)
    List(
      Server.Route(Method.GET, "/person", handlers.listPersons),
      Server.Route(Method.GET, "/person/{id}", handlers.getPerson),
      Server.Route(Method.GET, "/person/{id}/links", handlers.getPersonLinks),
      Server.Route(Method.POST, "/person", handlers.createPerson)
    )

final class PersonHttp private (people: People):
  import people.codec
  import codec.given

  private val mediaType = Renderer.renderString(codec.mediaType)

  /** Answers GET /person. */
  private def listPersons: Server.Handler = _ => IO(reply(people.listPersons))

  /** Answers GET /person/{id}. */
  private def getPerson: Server.Handler = question =>
    IO(people.getPerson(question.parameters.head).fold(Server.problem(Status.NotFound, "no person has this id"))(reply))

  /** Answers GET /person/{id}/links. */
  private def getPersonLinks: Server.Handler = question => IO(reply(people.getPersonLinks(question.parameters.head)))

  /** Answers POST /person: the person that was sent, decoded and encoded again. */
  private def createPerson: Server.Handler = question =>
    IO {
      val kind = question.request.headers.get[`Content-Type`].map(_.mediaType)
      if kind.exists(codec.mediaType.satisfiedBy) then
        codec.persons
          .decode(question.body.toArray)
          .fold(_ => Server.problem(Status.BadRequest, s"the body is no person in `$mediaType`"), reply)
      else Server.problem(Status.UnsupportedMediaType, s"the `Content-Type` must be `$mediaType`")
    }

  /** A message, encoded anew. */
  private def reply[M](message: M)(using format: Format[M]): Response[IO] =
    Server.reply(Status.Ok, codec.mediaType, Chunk.byteBuffer(format.encode(message)))
