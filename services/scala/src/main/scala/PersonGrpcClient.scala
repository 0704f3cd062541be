package weigh

import cats.effect.{IO, Resource}
import com.comcast.ip4s.{IpAddress, SocketAddress}
import io.grpc.{CallOptions, ManagedChannel, MethodDescriptor, Status, StatusRuntimeException}
import io.grpc.netty.NettyChannelBuilder
import scalapb.grpc.ClientCalls

import java.net.InetSocketAddress

/** Calls a peer of the workload person over gRPC: what ScalaPB's generated stub does, for any codec. */
final class PersonGrpcClient private (val codec: Codec, channel: ManagedChannel) extends PersonCalls:
  import codec.given

  private val listPersonsMethod = PersonGrpc.unaryCall[codec.ListPersonsRequest, codec.PersonList]("ListPersons")
  private val getPersonMethod = PersonGrpc.unaryCall[codec.PersonId, codec.Person]("GetPerson")
  private val getPersonLinksMethod = PersonGrpc.unaryCall[codec.PersonId, codec.PersonLinkList]("GetPersonLinks")
  private val createPersonMethod = PersonGrpc.unaryCall[codec.Person, codec.Person]("CreatePerson")

  def listPersons: IO[Option[codec.PersonList]] = call(listPersonsMethod, codec.listRequest)

  def getPerson(id: String): IO[Option[codec.Person]] = call(getPersonMethod, codec.personId(id))

  def getPersonLinks(id: String): IO[Option[codec.PersonLinkList]] = call(getPersonLinksMethod, codec.personId(id))

  def createPerson(person: codec.Person): IO[Option[codec.Person]] = call(createPersonMethod, person)

  private def call[Q, R](method: MethodDescriptor[Q, R], request: Q): IO[Option[R]] =
    IO.fromFuture(IO(ClientCalls.asyncUnaryCall(channel, method, CallOptions.DEFAULT, request)))
      .map(Option(_))
      .recoverWith { case error: StatusRuntimeException =>
        error.getStatus.getCode match
          case Status.Code.NOT_FOUND => IO.none
          // Otherwise calls fail at once for a second and more, though the peer may be there again.
          case Status.Code.UNAVAILABLE => IO(channel.enterIdle()) *> IO.raiseError(error)
          case _ => IO.raiseError(error)
      }

object PersonGrpcClient:
  /** Calls to that peer, over one connection. */
  def over(codec: Codec, peer: SocketAddress[IpAddress]): Resource[IO, PersonCalls] =
    val open = IO {
      val address = InetSocketAddress(peer.host.toInetAddress, peer.port.value)
      NettyChannelBuilder.forAddress(address).usePlaintext().build()
    }
    Resource.make(open)(channel => IO(channel.shutdownNow()).void).map(PersonGrpcClient(codec, _))
