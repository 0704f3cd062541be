package weigh

import cats.effect.{Deferred, ExitCode, IO, IOApp, Resource}
import cats.effect.unsafe.IORuntimeConfig
import cats.syntax.all.*
import com.comcast.ip4s.{IpAddress, Ipv4Address, Ipv6Address, Port, SocketAddress}
import io.grpc.ServerServiceDefinition
import org.http4s.BuildInfo
import sun.misc.Signal

import java.io.IOException
import java.lang.management.ManagementFactory
import java.net.{BindException, ServerSocket, Socket as TcpSocket}
import java.nio.file.{Files, Path as FilePath}
import java.util.Properties
import scala.concurrent.duration.Duration
import scala.util.Using

/** The Scala service, with http4s' Ember and grpc-java: configuration and life, as the contract in services/README.md
  * has it and no more. Server.scala has the server; each workload has its handlers in a file of its own, and its line
  * in the table below. README.md has why.
  */
object Main extends IOApp:
  private val exitConfiguration = ExitCode(2)
  private val exitPortInUse = ExitCode(3)

  // Otherwise 0.0.0.0 would be a socket of IPv6 that takes both. It is read when the run-time of cats-effect begins.
  if variable("HOST").forall(!_.contains(':')) && variable("PEER").forall(!_.startsWith("[")) then
    System.setProperty("java.net.preferIPv4Stack", "true"): Unit

  // Without it each longer stop of the process, as by SIGSTOP, would be complained about on stderr.
  override def runtimeConfig: IORuntimeConfig =
    super.runtimeConfig.copy(cpuStarvationCheckInitialDelay = Duration.Inf)

  /** Ember tells where it could not listen a second time, by a fiber of its own that nobody waits for. */
  override def reportFailure(error: Throwable): IO[Unit] = error match
    case _: BindException => IO.unit
    case _ => super.reportFailure(error)

  /** A service to which requests are passed on. */
  private type Peer = SocketAddress[IpAddress]

  /** What is served: over HTTP, or over gRPC. */
  private enum Service:
    case Http(routes: Resource[IO, List[Server.Route]])
    case Grpc(services: List[ServerServiceDefinition])

  /** What a workload answers: by itself, by asking PEER, with the people of DATA in a codec, or by asking a PEER for
    * them.
    */
  private enum Answers:
    case Alone(routes: List[Server.Route])
    case Relay(routes: Peer => Resource[IO, List[Server.Route]])
    case Persons(codec: () => Either[Refusal, Codec], framing: Framing)
    case PersonClient

  /** How persons are served over a framing, and how a peer is called over it. */
  private case class Framing(serve: People => Service, calls: (Codec, Peer) => Resource[IO, PersonCalls])

  private val http = Framing(people => Service.Http(Resource.pure(PersonHttp.routes(people))), PersonHttpClient.over)
  private val grpc = Framing(people => Service.Grpc(PersonGrpc.services(people, versionText)), PersonGrpcClient.over)

  /** A workload over a protocol. */
  private case class Offer(workload: String, protocol: String, answers: Answers)

  /** All of them, the defaults first. */
  private val offers = List(
    Offer("pingpong", "http1-json", Answers.Alone(Pong.routes)),
    Offer("ping", "http1-json", Answers.Relay(Ping.routes)),
    Offer("person", "http1-json", Answers.Persons(() => Right(Json), http)),
    Offer("person", "http1-protobuf", Answers.Persons(() => Right(Protobuf), http)),
    Offer("person", "http1-avro", Answers.Persons(() => avro, http)),
    Offer("person", "grpc", Answers.Persons(() => Right(Protobuf), grpc)),
    Offer("person", "grpc-json", Answers.Persons(() => Right(Json), grpc)),
    Offer("person", "grpc-avro", Answers.Persons(() => avro, grpc)),
    Offer("person-client", "http1-json", Answers.PersonClient)
  )

  /** The protocols over which a peer is asked for persons: those over which they are served. */
  private val clients = offers.collect { case Offer(_, protocol, answers: Answers.Persons) => protocol -> answers }

  // Configuration

  /** Where to listen, what to answer, and whether Nagle's algorithm stays on. */
  private case class Configuration(
      host: IpAddress,
      port: Port,
      service: IO[Service],
      nagle: Boolean
  )

  /** What is wrong with the configuration. The message is the line for stderr. */
  private case class Refusal(code: ExitCode, message: String) extends Exception(message)

  private def refusal(name: String, value: String, allowed: String) =
    Refusal(exitConfiguration, s"`$name` is \"$value\", allowed: $allowed")

  /** A variable's value; set to the empty text counts as unset. */
  private def variable(name: String): Option[String] = sys.env.get(name).filter(_.nonEmpty)

  /** A variable that takes one of these words, by default the first. */
  private def oneOf(name: String, words: List[String]): Either[Refusal, String] =
    val word = variable(name).getOrElse(words.head)
    Either.cond(words.contains(word), word, refusal(name, word, words.mkString("`", "`, `", "`")))

  /** A port in digits; the library takes signs too. */
  private def portOf(text: String): Option[Port] =
    Option.when(text.matches("[0-9]{1,9}"))(text.toInt).flatMap(Port.fromInt)

  /** Reads the environment. */
  private def readConfiguration: Either[Refusal, Configuration] =
    val hostText = variable("HOST").getOrElse("127.0.0.1")
    val portText = variable("PORT").getOrElse("8080")
    for
      host <- IpAddress.fromString(hostText).toRight(refusal("HOST", hostText, "an IP address"))
      port <- portOf(portText).toRight(refusal("PORT", portText, "0 to 65535"))
      workload <- oneOf("WORKLOAD", offers.map(_.workload).distinct)
      offered = offers.filter(_.workload == workload)
      protocol <- oneOf("PROTOCOL", offered.map(_.protocol))
      service <- open(offered.find(_.protocol == protocol).get.answers)
      nagle <- oneOf("NAGLE", List("off", "default"))
      _ <- unsupported("TLS_CERT")
      _ <- unsupported("TLS_KEY")
      _ <- unsupported("DIRECT")
    yield Configuration(host, port, service, nagle == "default")

  /** What is served; the people are read where all else is right. */
  private def open(answers: Answers): Either[Refusal, IO[Service]] = answers match
    case Answers.Alone(routes) => Right(IO.pure(Service.Http(Resource.pure(routes))))
    case Answers.Relay(routes) => readPeer.map(peer => IO.pure(Service.Http(routes(peer))))
    case Answers.Persons(codec, framing) => Right(IO.fromEither(codec()).flatMap(readPeople).map(framing.serve))
    case Answers.PersonClient =>
      for
        peer <- readPeer
        protocol <- oneOf("PEER_PROTOCOL", clients.map(_._1))
        Answers.Persons(codec, framing) = clients.toMap.apply(protocol)
      yield IO.fromEither(codec()).map(codec => Service.Http(framing.calls(codec, peer).map(PersonClient.routes)))

  private def readPeer: Either[Refusal, Peer] =
    val text = variable("PEER").getOrElse("")
    peerOf(text).toRight(refusal("PEER", text, "host:port, such as 127.0.0.1:8080 or [::1]:8080"))

  private def peerOf(text: String): Option[Peer] =
    for
      (host, port) <- Option(text.lastIndexOf(':')).filter(_ > 0).map(at => (text.take(at), text.drop(at + 1)))
      inBrackets = host.startsWith("[") && host.endsWith("]")
      address <- if inBrackets then Ipv6Address.fromString(host.drop(1).dropRight(1)) else Ipv4Address.fromString(host)
      number <- portOf(port).filter(_.value > 0)
    yield SocketAddress(address, number)

  /** Avro as AVRO says: with what is made of a schema kept, or made for each message. */
  private def avro: Either[Refusal, Codec] = oneOf("AVRO", List("once", "message")).map(word => Avro(word == "once"))

  /** Reads the people file in the folder that DATA names. */
  private def readPeople(codec: Codec): IO[People] =
    val folder = variable("DATA").getOrElse("")
    val allowed = "a folder with a people file `people.json`"
    def refused(error: Throwable) =
      refusal("DATA", folder, s"$allowed (${error.toString.replaceAll("\\s+", " ")})")
    if folder.isEmpty then IO.raiseError(refusal("DATA", folder, allowed))
    else IO.blocking(People.read(codec, folder).leftMap(refused)).rethrow

  private def unsupported(name: String): Either[Refusal, Unit] =
    variable(name).map(refusal(name, _, "nothing (not supported by this service)")).toLeft(())

  // Main

  def run(arguments: List[String]): IO[ExitCode] = arguments match
    case Nil => IO.fromEither(readConfiguration).flatMap(serve).recoverWith(refuse)
    case List("--version") => IO.println(versionText).as(ExitCode.Success)
    case argument :: _ =>
      refuse(Refusal(exitConfiguration, s"argument \"$argument\", allowed: `--version` alone"))

  /** Listens, says so, and serves until SIGTERM. */
  private def serve(configuration: Configuration): IO[ExitCode] =
    val Configuration(host, port, service, nagle) = configuration
    for
      stop <- Deferred[IO, Unit]
      // By its default way of ending, the process would tell 143.
      _ <- IO(Signal.handle(Signal("TERM"), _ => stop.complete(()).void.unsafeRunAndForget()(using runtime)))
      served <- service
      listening = served match
        case Service.Http(routes) =>
          val app = routes.map(Server.app(_, versionText))
          app.flatMap(Server.listening(host, port, nagle, stop)).map(_.address.getPort)
        case Service.Grpc(services) => Server.calls(host, port, services).map(_.getPort)
      _ <- listening.adaptError { case cause: IOException => refusalOf(host, port, cause) }.use { actual =>
        writeRuntimeFacts *> IO.println(s"ready $actual") *> stop.get
      }
    yield ExitCode.Success

  /** In use, without privileges, not ours: Java tells these apart by the system's text, in the user's language. */
  private def refusalOf(host: IpAddress, port: Port, cause: IOException): Refusal =
    val where = s"`PORT` $port on `HOST` $host"
    def isInUse = Using(ServerSocket(0, 1, host.toInetAddress)) { other =>
      // Below 1024 a port needs privileges, or somebody answers there.
      if port.value < 1024 then TcpSocket(other.getInetAddress, port.value).close()
    }.isSuccess
    if isInUse then Refusal(exitPortInUse, s"$where is in use, choose another")
    else Refusal(exitConfiguration, s"$where cannot be used: ${cause.getMessage}")

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
    val (scala, grpc) = (properties.getProperty("scala"), properties.getProperty("grpc"))
    s"Scala $scala http4s-ember ${BuildInfo.version} grpc-java $grpc JDK ${System.getProperty("java.version")}"
