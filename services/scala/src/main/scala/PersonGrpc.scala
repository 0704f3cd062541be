package weigh

import io.grpc.{MethodDescriptor, ServerMethodDefinition, ServerServiceDefinition, ServiceDescriptor, Status}
import io.grpc.MethodDescriptor.{Marshaller, MethodType}
import io.grpc.protobuf.services.ProtoReflectionServiceV1
import io.grpc.stub.{ServerCalls, ServerCallStreamObserver}
import scalapb.grpc.ConcreteProtoFileDescriptorSupplier
import weighbridge.person.v1.PersonProto

import java.io.InputStream
import scala.util.Try

/** The workload person over gRPC, with grpc-java: the operations of services/person/person.proto, for any codec. */
object PersonGrpc:
  private val name = "weighbridge.person.v1.People"

  /** The operations, and with Protocol Buffers reflection. */
  def services(people: People, version: String): List[ServerServiceDefinition] =
    val methods = PersonGrpc(people, version).methods
    val interface = ServiceDescriptor.newBuilder(name)
    methods.foreach(method => interface.addMethod(method.getMethodDescriptor))
    interface.setSchemaDescriptor(ConcreteProtoFileDescriptorSupplier(PersonProto.javaDescriptor))
    val operations = ServerServiceDefinition.builder(interface.build())
    methods.foreach(method => operations.addMethod(method))
    val reflection = Option.when(people.codec == Protobuf)(ProtoReflectionServiceV1.newInstance().bindService())
    operations.build() :: reflection.toList

  // Marshallers

  /** Reads requests. What cannot be read goes on as such: where a marshaller throws, grpc-java complains on stderr. */
  private final class Requests[M](format: Format[M]) extends Marshaller[Try[M]]:
    def parse(bytes: InputStream): Try[M] = format.parse(bytes)
    def stream(request: Try[M]): InputStream = throw UnsupportedOperationException("a server sends no requests")

  /** Writes replies, and for a client all messages. There what cannot be read ends the call. */
  private final class Messages[M](format: Format[M]) extends Marshaller[M]:
    def stream(message: M): InputStream = format.stream(message)
    def parse(bytes: InputStream): M = format.parse(bytes).get

  private def describe[Q, R](kind: MethodType, operation: String, request: Marshaller[Q], reply: Marshaller[R]) =
    MethodDescriptor
      .newBuilder(request, reply)
      .setType(kind)
      .setFullMethodName(MethodDescriptor.generateFullMethodName(name, operation))
      .build()

  /** An operation with one reply, as a client calls it. */
  def unaryCall[Q, R](operation: String)(using request: Format[Q], reply: Format[R]): MethodDescriptor[Q, R] =
    describe(MethodType.UNARY, operation, Messages(request), Messages(reply))

  private def served[Q, R](kind: MethodType, operation: String)(using request: Format[Q], reply: Format[R]) =
    describe(kind, operation, Requests(request), Messages(reply))

  private val unreadable = Status.INVALID_ARGUMENT.withDescription("the message cannot be read")

  // Kinds of operations

  /** What an operation answers: a message, or the status that is said in its place. */
  private type Operation[Q, R] = Q => Either[Status, R]

  /** An operation with one reply. */
  private def unary[Q: Format, R: Format](operation: String)(
      answer: Operation[Q, R]
  ): ServerMethodDefinition[Try[Q], R] =
    val handler = ServerCalls.asyncUnaryCall[Try[Q], R] { (request, replies) =>
      request.fold(_ => Left(unreadable), answer) match
        case Right(reply) =>
          replies.onNext(reply)
          replies.onCompleted()
        case Left(status) => replies.onError(status.asRuntimeException)
    }
    ServerMethodDefinition.create(served(MethodType.UNARY, operation), handler)

  /** An operation with any number of replies. */
  private def serverStream[Q: Format, R: Format](operation: String)(
      answer: Q => Iterator[R]
  ): ServerMethodDefinition[Try[Q], R] =
    val handler = ServerCalls.asyncServerStreamingCall[Try[Q], R] { (request, replies) =>
      request.fold(
        _ => replies.onError(unreadable.asRuntimeException),
        request => sendAll(answer(request), replies.asInstanceOf[ServerCallStreamObserver[R]])
      )
    }
    ServerMethodDefinition.create(served(MethodType.SERVER_STREAMING, operation), handler)

  /** Sends each reply when the client has read enough of those before. */
  private def sendAll[R](replies: Iterator[R], call: ServerCallStreamObserver[R]): Unit =
    var isOver = false
    // Called at first and when there is room again, by one thread at a time.
    call.setOnReadyHandler { () =>
      while call.isReady && replies.hasNext do call.onNext(replies.next())
      if !replies.hasNext && !isOver then
        isOver = true
        call.onCompleted()
    }
    // Otherwise `onNext` would throw where the client has gone.
    call.setOnCancelHandler(() => ())

final class PersonGrpc private (people: People, version: String):
  import PersonGrpc.*
  import people.codec
  import codec.given

  private def methods: List[ServerMethodDefinition[?, ?]] = List(
    unary("ListPersons")(listPersons),
    unary("GetPerson")(getPerson),
    unary("GetPersonLinks")(getPersonLinks),
    unary("CreatePerson")(createPerson),
    serverStream("StreamPersons")(streamPersons),
    unary("Version")(answerVersion)
  )

  private def listPersons: Operation[codec.ListPersonsRequest, codec.PersonList] = _ => Right(people.listPersons)

  private def getPerson: Operation[codec.PersonId, codec.Person] = request =>
    val id = codec.id(request)
    people.getPerson(id).toRight(Status.NOT_FOUND.withDescription(s"no person has the id \"$id\""))

  private def getPersonLinks: Operation[codec.PersonId, codec.PersonLinkList] = request =>
    Right(people.getPersonLinks(codec.id(request)))

  /** The person that was sent, decoded and encoded again. */
  private def createPerson: Operation[codec.Person, codec.Person] = Right(_)

  private def streamPersons: codec.ListPersonsRequest => Iterator[codec.Person] = _ => people.streamPersons

  private def answerVersion: Operation[codec.VersionRequest, codec.VersionReply] = _ =>
    Right(codec.versionReply(version))
