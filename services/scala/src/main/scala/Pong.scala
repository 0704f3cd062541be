package weigh

import cats.effect.{Deferred, ExitCode, IO, IOApp, Ref, Resource}
import cats.effect.unsafe.IORuntimeConfig
import cats.syntax.all.*
import com.comcast.ip4s.{Host, IpAddress, Ipv4Address, Ipv6Address, Port, SocketAddress}
import fs2.{Chunk, Stream}
import fs2.io.net.{Network, Socket, SocketGroup, SocketOption}
import org.http4s.*
import org.http4s.dsl.io.*
import org.http4s.ember.server.EmberServerBuilder
import org.http4s.headers.{Allow, Connection, `Content-Type`}
import org.http4s.server.Server
import sun.misc.Signal

import java.io.IOException
import java.lang.management.ManagementFactory
import java.net.{BindException, ServerSocket, Socket as TcpSocket}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path as FilePath}
import java.util.{Arrays, Properties}
import scala.concurrent.duration.{Duration, DurationInt}
import scala.util.Using

/** The Scala service: pingpong, and ping (Ping.scala), over http1-json with http4s' Ember, as the contract in
  * services/README.md has it and no more. README.md has why.
  */
object Pong extends IOApp:
  /** Sizes of a body that the contract allows, in bytes. */
  private val allowedSizes = 4 to 100_000_000

  /** How long outstanding requests may take after SIGTERM; the contract allows 5 s in all. */
  private val grace = 4.seconds

  /** How long before it all goes on, so that what was sent before SIGTERM is read; and how much longer where no
    * connection is open, which the first may be about to be.
    */
  private val shortGrace = 50.millis
  private val firstGrace = 400.millis

  /** How long a head may take, which is Ember's only end of one that is not HTTP; the contract allows 2 s. */
  private val headTime = 1500.millis

  private val exitConfiguration = ExitCode(2)
  private val exitPortInUse = ExitCode(3)

  // Without it each longer stop of the process, as by SIGSTOP, would be complained about on stderr.
  override def runtimeConfig: IORuntimeConfig =
    super.runtimeConfig.copy(cpuStarvationCheckInitialDelay = Duration.Inf)

  /** Ember tells where it could not listen a second time, by a fiber of its own that nobody waits for. */
  override def reportFailure(error: Throwable): IO[Unit] = error match
    case _: BindException => IO.unit
    case _ => super.reportFailure(error)

  // Configuration

  /** What a service does. */
  private enum Workload:
    case PingPong
    case Ping(peer: SocketAddress[IpAddress])

  /** Where to listen, what to do there, and whether Nagle's algorithm stays on. */
  private case class Configuration(host: IpAddress, port: Port, workload: Workload, nagle: Boolean)

  /** What is wrong with the configuration. The message is the line for stderr. */
  private case class Refusal(code: ExitCode, message: String) extends Exception(message)

  private def refusal(name: String, value: String, allowed: String) =
    Refusal(exitConfiguration, s"`$name` is \"$value\", allowed: $allowed")

  /** A variable's value; set to the empty text counts as unset. */
  private def variable(name: String): Option[String] = sys.env.get(name).filter(_.nonEmpty)

  /** A variable that takes one of these words, by default the first. */
  private def oneOf(name: String, words: String*): Either[Refusal, String] =
    val word = variable(name).getOrElse(words.head)
    Either.cond(words.contains(word), word, refusal(name, word, words.mkString("`", "`, `", "`")))

  /** A port in digits; the library takes signs too. */
  def portOf(text: String): Option[Port] =
    Option.when(text.matches("[0-9]{1,9}"))(text.toInt).flatMap(Port.fromInt)

  /** Reads the environment. */
  private def readConfiguration: Either[Refusal, Configuration] =
    val hostText = variable("HOST").getOrElse("127.0.0.1")
    val portText = variable("PORT").getOrElse("8080")
    for
      host <- IpAddress.fromString(hostText).toRight(refusal("HOST", hostText, "an IP address"))
      port <- portOf(portText).toRight(refusal("PORT", portText, "0 to 65535"))
      word <- oneOf("WORKLOAD", "pingpong", "ping")
      _ <- oneOf("PROTOCOL", "http1-json")
      workload <- if word == "ping" then readPeer.map(Workload.Ping(_)) else Right(Workload.PingPong)
      nagle <- oneOf("NAGLE", "off", "default")
      _ <- unsupported("TLS_CERT")
      _ <- unsupported("TLS_KEY")
      _ <- unsupported("DIRECT")
    yield Configuration(host, port, workload, nagle == "default")

  private def readPeer: Either[Refusal, SocketAddress[IpAddress]] =
    val text = variable("PEER").getOrElse("")
    Ping.peerOf(text).toRight(refusal("PEER", text, "host:port, such as 127.0.0.1:8080 or [::1]:8080"))

  private def unsupported(name: String): Either[Refusal, Unit] =
    variable(name).map(refusal(name, _, "nothing (not supported by this service)")).toLeft(())

  // Handlers

  /** Answers GET /pong/{n}: p, size - 3 times o, ng. The body is made anew for each request. */
  private def pong(size: Int): IO[Response[IO]] = IO {
    val body = new Array[Byte](size)
    Arrays.fill(body, 'o'.toByte)
    body(0) = 'p'
    body(size - 2) = 'n'
    body(size - 1) = 'g'
    reply(Status.Ok, MediaType.text.plain, Chunk.array(body))
  }

  /** Answers GET /version. */
  private def version: IO[Response[IO]] =
    IO.pure(reply(Status.Ok, MediaType.text.plain, Chunk.array(versionText.getBytes(UTF_8))))

  /** Answers every path that the contract does not name. */
  private def notFound: IO[Response[IO]] = IO.pure(problem(Status.NotFound, "there is nothing at this path"))

  /** Answers every method but GET and HEAD on a known path. */
  private def methodNotAllowed: IO[Response[IO]] =
    IO.pure(problem(Status.MethodNotAllowed, "allowed here: GET and HEAD").putHeaders(Allow(GET, HEAD)))

  /** Says what was wrong, in JSON; none of our texts needs escapes. */
  def problem(status: Status, text: String): Response[IO] =
    reply(status, MediaType.application.json, Chunk.array(s"{\"error\": \"$text\"}".getBytes(UTF_8)))

  /** A whole reply with its length. */
  def reply(status: Status, kind: MediaType, body: Chunk[Byte]): Response[IO] =
    Response[IO](status).withEntity(body).withContentType(`Content-Type`(kind))

  /** Answers a path that ends with a size. */
  private def sized(text: String)(answer: Int => IO[Response[IO]]): IO[Response[IO]] =
    Option.when(text.matches("[1-9][0-9]{0,8}"))(text.toInt).filter(allowedSizes.contains) match
      case Some(size) => answer(size)
      case None =>
        val allowed = s"a whole number from ${allowedSizes.start} to ${allowedSizes.end}"
        IO.pure(problem(Status.BadRequest, s"the size must be $allowed"))

  // Server

  /** The paths of the contract; those whose last part is a size by their first. */
  private def router(sizes: Map[String, Int => IO[Response[IO]]]): HttpApp[IO] =
    val answers = HttpApp[IO] {
      case (GET | HEAD) -> Root / "version" => version
      case _ -> Root / "version" => methodNotAllowed
      case (GET | HEAD) -> Root / name / size if sizes.contains(name) => sized(size)(sizes(name))
      case _ -> Root / name / _ if sizes.contains(name) => methodNotAllowed
      case _ => notFound
    }
    HttpApp { request =>
      request.method match
        case GET => answers(request)
        // Ember would send the body of the reply too.
        case HEAD => answers(request).map(_.withBodyStream(EmptyBody))
        // Ember closes a connection whose body was not read.
        case _ => request.body.compile.drain *> answers(request)
    }

  /** What is answered, with what that needs. */
  private def app(workload: Workload): Resource[IO, HttpApp[IO]] = workload match
    case Workload.PingPong => Resource.pure(router(Map("pong" -> pong)))
    case Workload.Ping(peer) =>
      Ping.over(peer).map(ping => router(Map("ping" -> ping.ping, "mping" -> ping.mping)))

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
  private def server(configuration: Configuration, stopped: Deferred[IO, Unit]): Resource[IO, Server] =
    val options = if configuration.nagle then Nil else List(SocketOption.noDelay(true))
    for
      answers <- app(configuration.workload)
      connections <- Resource.eval(Ref[IO].of(Map.empty[Client, (Socket[IO], Boolean)]))
      server <- EmberServerBuilder
        .default[IO]
        .withHost(configuration.host)
        .withPort(configuration.port)
        .withHttpApp(noting(connections, stopped)(answers))
        .withMaxConnections(Int.MaxValue)
        .withIdleTimeout(Duration.Inf)
        .withRequestHeaderReceiveTimeout(headTime)
        .withShutdownTimeout(grace)
        .withAdditionalSocketOptions(options)
        .withSocketGroup(remembering(connections, stopped))
        .build
        .adaptError { case cause: IOException => refusalOf(configuration, cause) }
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

  /** In use, without privileges, not ours: Java tells these apart by the system's text, in the user's language. */
  private def refusalOf(configuration: Configuration, cause: IOException): Refusal =
    val Configuration(host, port, _, _) = configuration
    val where = s"`PORT` $port on `HOST` $host"
    def isInUse = Using(ServerSocket(0, 1, host.toInetAddress)) { other =>
      // Below 1024 a port needs privileges, or somebody answers there.
      if port.value < 1024 then TcpSocket(other.getInetAddress, port.value).close()
    }.isSuccess
    if isInUse then Refusal(exitPortInUse, s"$where is in use, choose another")
    else Refusal(exitConfiguration, s"$where cannot be used: ${cause.getMessage}")

  // Main

  def run(arguments: List[String]): IO[ExitCode] = arguments match
    case Nil => IO.fromEither(readConfiguration).flatMap(serve).recoverWith(refuse)
    case List("--version") => IO.println(versionText).as(ExitCode.Success)
    case argument :: _ =>
      refuse(Refusal(exitConfiguration, s"argument \"$argument\", allowed: `--version` alone"))

  /** Listens, says so, and serves until SIGTERM. */
  private def serve(configuration: Configuration): IO[ExitCode] =
    val asksIPv6 = configuration.workload match
      case Workload.Ping(peer) => peer.host.isInstanceOf[Ipv6Address]
      case Workload.PingPong => false
    for
      // Otherwise 0.0.0.0 would be a socket of IPv6 that takes both. It is read at the first use of the network.
      _ <- IO(System.setProperty("java.net.preferIPv4Stack", "true"))
        .whenA(configuration.host.isInstanceOf[Ipv4Address] && !asksIPv6)
      stop <- Deferred[IO, Unit]
      // By its default way of ending, the process would tell 143.
      _ <- IO(Signal.handle(Signal("TERM"), _ => stop.complete(()).void.unsafeRunAndForget()(using runtime)))
      _ <- server(configuration, stop).use { server =>
        writeRuntimeFacts *> IO.println(s"ready ${server.address.getPort}") *> stop.get
      }
    yield ExitCode.Success

  private val refuse: PartialFunction[Throwable, IO[ExitCode]] =
    case Refusal(code, message) => IO.consoleForIO.errorln(message).as(code)

  /** Says what the JVM saw of the machine, where it is asked to. */
  private def writeRuntimeFacts: IO[Unit] = IO.blocking {
    variable("RUNTIME_FACTS").foreach { file =>
      val collector = ManagementFactory.getGarbageCollectorMXBeans.get(0).getName.replace(' ', '_')
      val machine = Runtime.getRuntime
      val facts = s"cores=${machine.availableProcessors} gc=$collector heap_bytes=${machine.maxMemory}\n"
      Files.writeString(FilePath.of(file), facts)
    }
  }

  /** What --version and /version answer: language, library, run-time. */
  private lazy val versionText: String =
    val properties = Properties()
    properties.load(getClass.getResourceAsStream("/version.properties"))
    val scala = properties.getProperty("scala")
    s"Scala $scala http4s-ember ${BuildInfo.version} JDK ${System.getProperty("java.version")}"
