package weigh

import cats.effect.{IO, Resource}
import com.comcast.ip4s.{IpAddress, SocketAddress}
import fs2.Chunk
import org.http4s.*
import org.http4s.client.Client
import org.http4s.ember.client.EmberClientBuilder

import java.io.IOException
import java.nio.channels.ClosedChannelException
import java.nio.charset.StandardCharsets.UTF_8
import scala.concurrent.duration.{Duration, FiniteDuration}

/** The workload ping: passes requests on to a peer with http4s' Ember client. */
final class Ping private (peer: SocketAddress[IpAddress], client: Client[IO]):
  import Ping.*

  // Handlers

  /** Answers GET /ping/{n}: the body as it came from the peer. */
  private def ping(size: Int): IO[Response[IO]] = ask(size).map {
    case Some(Answer(Status.Ok, body, _, _)) => Server.reply(Status.Ok, MediaType.text.plain, body)
    case Some(answer) => Server.problem(Status.BadGateway, s"the peer answered with status ${answer.status.code}")
    case None => noReply
  }

  /** Answers GET /mping/{n}: how asking the peer went. */
  private def mping(size: Int): IO[Response[IO]] = ask(size).map {
    case Some(Answer(status, body, retries, duration)) =>
      val text = s"{\"duration_ns\": ${duration.toNanos}, \"length\": ${body.size}, " +
        s"\"code\": ${status.code}, \"retries\": $retries}"
      Server.reply(Status.Ok, MediaType.application.json, Chunk.array(text.getBytes(UTF_8)))
    case None => noReply
  }

  /** Answers where the peer is not there, or went away within its reply. */
  private def noReply: Response[IO] = Server.problem(Status.BadGateway, s"no whole reply came from the peer $peer")

  // Client

  /** Asks the peer and reads the reply to its end; none where none came whole. */
  private def ask(size: Int): IO[Option[Answer]] =
    val request = Request[IO](uri = Uri.unsafeFromString(s"http://$peer/pong/$size"))
    def attempt(retries: Int): IO[(Status, Chunk[Byte], Int)] =
      client
        .run(request)
        .attempt
        .use {
          case Right(response) => response.body.compile.to(Chunk).map(body => Option((response.status, body, retries)))
          case Left(error) if retries < mostRetries && hungUp(error) => IO.none
          case Left(error) => IO.raiseError(error)
        }
        .flatMap(_.fold(attempt(retries + 1))(IO.pure))
    attempt(0).timed.map { case (duration, (status, body, retries)) =>
      Answer(status, body, retries, duration)
    }.option

object Ping:
  /** How often a request is repeated where its connection ended before a byte of the reply came. */
  private val mostRetries = 3

  /** Whether a connection ended before a byte of the reply came, or was reset before its head: the latter by its text,
    * as Ember itself knows it.
    */
  private def hungUp(error: Throwable): Boolean = error match
    case _: ClosedChannelException => true
    case error: IOException => Set("Connection reset", "Connection reset by peer", "Broken pipe")(error.getMessage)
    case _ => false

  /** A reply that came whole, how often it was asked for again, and how long that took in all. */
  private case class Answer(status: Status, body: Chunk[Byte], retries: Int, duration: FiniteDuration)

  /** The paths of the workload, with one client for all. */
  def routes(peer: SocketAddress[IpAddress]): Resource[IO, List[Server.Route]] = client.map { client =>
    val ping = Ping(peer, client)
    List(
      Server.Route(Method.GET, "/ping/{n}", Pong.sized(ping.ping)),
      Server.Route(Method.GET, "/mping/{n}", Pong.sized(ping.mping))
    )
  }

  /** Ember's client. Its connections are kept, as many as were in use at once. */
  def client: Resource[IO, Client[IO]] =
    EmberClientBuilder
      .default[IO]
      .withMaxTotal(Int.MaxValue)
      .withMaxPerKey(_ => Int.MaxValue)
      .withIdleTimeInPool(Duration.Inf)
      .withIdleConnectionTime(Duration.Inf)
      .withTimeout(Duration.Inf)
      .build
