package weigh

import cats.effect.IO
import fs2.Chunk
import org.http4s.{MediaType, Method, Response, Status}

import java.util.Arrays

/** The workload pingpong over HTTP. */
object Pong:
  /** Sizes of a body that the contract allows, in bytes. */
  private val allowedSizes = 4 to 100_000_000

  /** The paths of the workload. */
  val routes: List[Server.Route] = List(Server.Route(Method.GET, "/pong/{n}", sized(pong)))

  /** Answers GET /pong/{n}: p, size - 3 times o, ng. The body is made anew for each request. */
  private def pong(size: Int): IO[Response[IO]] = IO {
    val body = new Array[Byte](size)
    Arrays.fill(body, 'o'.toByte)
    body(0) = 'p'
    body(size - 2) = 'n'
    body(size - 1) = 'g'
    Server.reply(Status.Ok, MediaType.text.plain, Chunk.array(body))
  }

  /** Answers a path that ends with a size. */
  def sized(answer: Int => IO[Response[IO]]): Server.Handler = question =>
    val text = question.parameters.head
    Option.when(text.matches("[1-9][0-9]{0,8}"))(text.toInt).filter(allowedSizes.contains) match
      case Some(size) => answer(size)
      case None =>
        val allowed = s"a whole number from ${allowedSizes.start} to ${allowedSizes.end}"
        IO.pure(Server.problem(Status.BadRequest, s"the size must be $allowed"))
