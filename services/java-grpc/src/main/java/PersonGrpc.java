import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import weighbridge.person.v1.PeopleGrpc;

/** The workload person over gRPC: the operations of services/person/person.proto, for any codec. */
final class PersonGrpc<P, I, L, PL, LL, V> {
    private final Codec<P, I, L, PL, LL, V> codec;
    private final Person.People<P, L, PL, LL> people;
    private final String version;

    private PersonGrpc(Person.PeopleFile file, Codec<P, I, L, PL, LL, V> codec, String version) {
        this.codec = codec;
        people = new Person.People<>(file, codec.forms());
        this.version = version;
    }

    /** The operations in Protocol Buffers, and reflection. */
    static List<BindableService> protobuf(Person.PeopleFile file, String version) {
        var person = new PersonGrpc<>(file, Codec.protobuf(), version);
        return List.of(person::operations, ProtoReflectionServiceV1.newInstance());
    }

    /** The operations in another codec, which reflection does not describe. */
    static List<BindableService> of(Person.PeopleFile file, Codec<?, ?, ?, ?, ?, ?> codec, String version) {
        return List.of(new PersonGrpc<>(file, codec, version)::operations);
    }

    // Interface

    /** The generated interface with the codec's marshallers in place of those of Protocol Buffers. */
    private ServerServiceDefinition operations() {
        List<ServerMethodDefinition<?, ?>> operations = List.of(
                unary(PeopleGrpc.getListPersonsMethod(), codec.all(), codec.personList(), this::listPersons),
                unary(PeopleGrpc.getGetPersonMethod(), codec.personId(), codec.person(), this::getPerson),
                unary(PeopleGrpc.getGetPersonLinksMethod(), codec.personId(), codec.linkList(), this::getPersonLinks),
                unary(PeopleGrpc.getCreatePersonMethod(), codec.person(), codec.person(), this::createPerson),
                operation(
                        PeopleGrpc.getStreamPersonsMethod(),
                        codec.all(),
                        codec.person(),
                        ServerCalls.asyncServerStreamingCall(this::streamPersons)),
                unary(PeopleGrpc.getVersionMethod(), codec.versionRequest(), codec.versionReply(), this::version));
        var service = ServiceDescriptor.newBuilder(PeopleGrpc.SERVICE_NAME)
                .setSchemaDescriptor(PeopleGrpc.getServiceDescriptor().getSchemaDescriptor());
        operations.forEach(operation -> service.addMethod(operation.getMethodDescriptor()));
        var definition = ServerServiceDefinition.builder(service.build());
        operations.forEach(operation -> definition.addMethod(operation));
        return definition.build();
    }

    private static <Q, R> ServerMethodDefinition<Q, R> unary(
            MethodDescriptor<?, ?> method,
            Marshaller<Q> requests,
            Marshaller<R> replies,
            ServerCalls.UnaryMethod<Q, R> handler) {
        return operation(method, requests, replies, ServerCalls.asyncUnaryCall(handler));
    }

    private static <Q, R> ServerMethodDefinition<Q, R> operation(
            MethodDescriptor<?, ?> method,
            Marshaller<Q> requests,
            Marshaller<R> replies,
            ServerCallHandler<Q, R> handler) {
        return ServerMethodDefinition.create(method.toBuilder(requests, replies).build(), handler);
    }

    // Handlers

    private void listPersons(Object all, StreamObserver<PL> replies) {
        answer(people.listPersons(), replies);
    }

    private void getPerson(I request, StreamObserver<P> replies) {
        Optional<P> person = people.getPerson(codec.id().apply(request));
        if (person.isPresent()) {
            answer(person.get(), replies);
        } else {
            replies.onError(
                    Status.NOT_FOUND.withDescription("no person has this id").asRuntimeException());
        }
    }

    private void getPersonLinks(I request, StreamObserver<LL> replies) {
        answer(people.getPersonLinks(codec.id().apply(request)), replies);
    }

    /** Answers the person that was sent, decoded and encoded again. */
    private void createPerson(P person, StreamObserver<P> replies) {
        answer(person, replies);
    }

    private void streamPersons(Object all, StreamObserver<P> replies) {
        Server.sendAll(people.streamPersons(), replies);
    }

    private void version(Object request, StreamObserver<V> replies) {
        answer(codec.version().apply(version), replies);
    }

    private static <R> void answer(R reply, StreamObserver<R> replies) {
        replies.onNext(reply);
        replies.onCompleted();
    }
}
