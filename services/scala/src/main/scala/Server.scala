package weigh

import cats.effect.{Deferred, IO, Ref, Resource}
import cats.syntax.all.*
import com.comcast.ip4s.{Host, IpAddress, Port, SocketAddress}
import fs2.{Chunk, Stream}
import fs2.io.net.{Network, Socket, SocketGroup, SocketOption}
import io.grpc.ServerServiceDefinition
import io.grpc.netty.NettyServerBuilder
import org.http4s.*
import org.http4s.Method.{GET, HEAD}
import org.http4s.ember.server.EmberServerBuilder
import org.http4s.headers.{Allow, Connection, `Content-Type`}

import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit
import java.util.logging.LogManager
import scala.annotation.tailrec
import scala.concurrent.duration.{Duration, DurationInt}
import scala.jdk.CollectionConverters.*

/** The server of every workload: routes, replies and connections, with http4s' Ember, and with grpc-java for gRPC. */
object Server:
  /** How long outstanding requests may take after SIGTERM; the contract allows 5 s in all. */
  private val grace = 4.seconds

  /** How long before it all goes on, so that what was sent before SIGTERM is read; and how much longer where no
    * connection is open, which the first may be about to be.
    */
  private val shortGrace = 50.millis
  private val firstGrace = 400.millis

  /** How long a head may take, which is Ember's only end of one that is not HTTP; the contract allows 2 s. */
  private val headTime = 1500.millis

  // Replies

  /** Says what was wrong, in JSON; none of our texts needs escapes. */
  def problem(status: Status, text: String): Response[IO] =
    reply(status, MediaType.application.json, Chunk.array(s"{\"error\": \"$text\"}".getBytes(UTF_8)))

  /** A whole reply with its length. */
  def reply(status: Status, kind: MediaType, body: Chunk[Byte]): Response[IO] =
    Response[IO](status).withEntity(body).withContentType(`Content-Type`(kind))

  /** Answers every path that the contract does not name. */
  private def notFound: Response[IO] = problem(Status.NotFound, "there is nothing at this path")

  /** Answers every method but these on a known path. */
  private def methodNotAllowed(methods: Set[Method]): Response[IO] =
    problem(Status.MethodNotAllowed, methods.mkString("allowed here: ", ", ", "")).putHeaders(Allow(methods))

  // Router

  /** What a handler is asked: the decoded segments that its pattern has in braces and, but for GET, the body. */
  case class Question(parameters: List[String], request: Request[IO], body: Chunk[Byte])

  type Handler = Question => IO[Response[IO]]

  /** The handler of a method, on all paths of a pattern such as /pong/{n}; that of GET answers HEAD too. */
  case class Route(method: Method, pattern: String, handler: Handler)

  /** What follows one segment of a path. */
  private case class Node(
      segments: Map[String, Node] = Map.empty,
      parameter: Option[Node] = None,
      handlers: Map[Method, Handler] = Map.empty
  ):
    /** This tree with one more handler. */
    def added(methods: List[Method], pattern: List[String], handler: Handler): Node = pattern match
      case Nil => copy(handlers = handlers ++ methods.map(_ -> handler))
      case segment :: rest if segment.startsWith("{") =>
        copy(parameter = Some(parameter.getOrElse(Node()).added(methods, rest, handler)))
      case segment :: rest =>
        copy(segments = segments.updated(segment, segments.getOrElse(segment, Node()).added(methods, rest, handler)))

    /** The end of a path, and its segments that stand for parameters, the last first. */
    @tailrec
    final def find(path: List[String], parameters: List[String] = Nil): Option[(Node, List[String])] = path match
      case Nil => Some((this, parameters))
      case segment :: rest =>
        segments.get(segment) match
          case Some(node) => node.find(rest, parameters)
          case None =>
            parameter match
              case Some(node) => node.find(rest, segment :: parameters)
              case None => None

  /** The segments of a path, decoded one by one. */
  private def segmentsOf(path: Uri.Path): List[String] =
    val last = if path.endsWithSlash then List("") else Nil
    path.segments.foldRight(last)((segment, rest) => segment.decoded() :: rest)

  /** Answers the routes of a workload, and what is in every one. */
  def app(routes: List[Route], version: String): HttpApp[IO] =
    val answerVersion: Handler =
      _ => IO.pure(reply(Status.Ok, MediaType.text.plain, Chunk.array(version.getBytes(UTF_8))))
    val root = (Route(GET, "/version", answerVersion) :: routes).foldLeft(Node()) { (tree, route) =>
      val methods = if route.method == GET then List(GET, HEAD) else List(route.method)
      tree.added(methods, route.pattern.split("/", -1).toList.tail, route.handler)
    }
    HttpApp { request =>
      val (handlers, parameters) = root.find(segmentsOf(request.pathInfo)) match
        case Some((node, parameters)) => (node.handlers, parameters.reverse)
        case None => (Map.empty[Method, Handler], Nil)
      (request.method, handlers.get(request.method)) match
        case (GET, Some(handler)) => handler(Question(parameters, request, Chunk.empty))
        // Ember would send the body of the reply too.
        case (HEAD, Some(handler)) =>
          handler(Question(parameters, request, Chunk.empty)).map(_.withBodyStream(EmptyBody))
        case (_, Some(handler)) =>
          request.body.compile.to(Chunk).flatMap(body => handler(Question(parameters, request, body)))
        case (method, None) =>
          val answer = if handlers.isEmpty then notFound else methodNotAllowed(handlers.keySet)
          method match
            case GET => IO.pure(answer)
            case HEAD => IO.pure(answer.withBodyStream(EmptyBody))
            // Ember closes a connection whose body was not read.
            case _ => request.body.compile.drain.as(answer)
    }

  // Connections

  private type Client = SocketAddress[IpAddress]

  /** The connections that are open, by the client's address, and whether a request came over them. */
  private type Connections = Ref[IO, Map[Client, (Socket[IO], Boolean)]]

  private def pause(connections: Connections): IO[Unit] =
    IO.sleep(shortGrace) *> connections.get.flatMap(open => IO.sleep(firstGrace).whenA(open.isEmpty))

  /** Notes which connections had a request; once `stopped`, a reply is the last on its connection. */
  private def noting(connections: Connections, stopped: Deferred[IO, Unit])(answers: HttpApp[IO]): HttpApp[IO] =
    def note(client: Client) = connections.get.flatMap { open =>
      connections
        .update(_.updatedWith(client)(_.map((socket, _) => (socket, true))))
        .unlessA(open.get(client).forall(_._2))
    }
    HttpApp { request =>
      for
        _ <- request.remote.traverse_(note)
        reply <- answers(request)
        isLast <- stopped.tryGet.map(_.isDefined)
      yield if isLast then reply.putHeaders(Connection.close) else reply
    }

  /** Listens, with the contract's policy for connections. Once `stopped`, it finishes what was begun with. */
  def listening(host: IpAddress, port: Port, nagle: Boolean, stopped: Deferred[IO, Unit])(
      answers: HttpApp[IO]
  ): Resource[IO, org.http4s.server.Server] =
    val options = if nagle then Nil else List(SocketOption.noDelay(true))
    for
      connections <- Resource.eval(Ref[IO].of(Map.empty[Client, (Socket[IO], Boolean)]))
      server <- EmberServerBuilder
        .default[IO]
        .withHost(host)
        .withPort(port)
        .withHttpApp(noting(connections, stopped)(answers))
        .withMaxConnections(Int.MaxValue)
        .withIdleTimeout(Duration.Inf)
        .withRequestHeaderReceiveTimeout(headTime)
        .withShutdownTimeout(grace)
        .withAdditionalSocketOptions(options)
        .withSocketGroup(remembering(connections, stopped))
        .build
      // Ember by itself leaves kept connections open until its time for shutdown is over.
      kept = connections.get.map(_.values.toList.collect { case (socket, true) => socket })
      _ <- Resource.onFinalize(pause(connections) *> kept.flatMap(_.traverse_(_.endOfInput.attempt)))
    yield server

  /** The system's sockets: the listener is closed once `stopped`, which Ember puts off until no connection is left, and
    * the accepted ones are kept in `connections` while they are open.
    */
  private def remembering(connections: Connections, stopped: Deferred[IO, Unit]): SocketGroup[IO] =
    new SocketGroup[IO]:
      private val system = Network[IO]
      def client(to: SocketAddress[Host], options: List[SocketOption]) = system.client(to, options)
      def server(host: Option[Host], port: Option[Port], options: List[SocketOption]) =
        system.server(host, port, options)
      def serverResource(host: Option[Host], port: Option[Port], options: List[SocketOption]) =
        Resource
          .make(system.serverResource(host, port, options).allocated)(_._2)
          .flatMap { case ((address, accepted), close) =>
            (stopped.get *> pause(connections) *> close).background.as((address, accepted.flatMap(remember)))
          }
      private def remember(socket: Socket[IO]) = Stream.eval(socket.remoteAddress).flatMap { client =>
        Stream.bracket(connections.update(_.updated(client, (socket, false))).as(socket))(_ =>
          connections.update(_.removed(client))
        )
      }

  // gRPC

  /** Listens for calls. The end of what this gives finishes what was begun with. */
  def calls(host: IpAddress, port: Port, services: List[ServerServiceDefinition]): Resource[IO, io.grpc.Server] =
    val start = IO.blocking {
      // Each client that breaks the protocol or its connection would be reported on stderr.
      LogManager.getLogManager.reset()
      val builder = NettyServerBuilder.forAddress(InetSocketAddress(host.toInetAddress, port.value))
      builder.addServices(services.asJava).build().start()
    }
    Resource.make(start) { server =>
      IO.blocking {
        server.shutdown()
        if !server.awaitTermination(grace.toMillis, TimeUnit.MILLISECONDS) then server.shutdownNow(): Unit
      }
    }
