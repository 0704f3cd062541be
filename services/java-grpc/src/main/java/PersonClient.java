import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import weighbridge.person.v1.ListPersonsRequest;
import weighbridge.person.v1.PeopleGrpc;
import weighbridge.person.v1.PersonId;

/** The workload person-client: calls a peer over gRPC and tells how long that took, for any codec. */
final class PersonClient<P, I, PL, LL> {
    private final Messages<P, I, PL, LL> messages;
    private final ManagedChannel channel;
    private final MethodDescriptor<Object, PL> listPersons;
    private final MethodDescriptor<I, P> getPerson;
    private final MethodDescriptor<I, LL> getPersonLinks;
    private final MethodDescriptor<P, P> createPerson;

    /** The messages of a codec: how requests are made, and how every field of a reply is read into a digest. */
    private record Messages<P, I, PL, LL>(
            Codec<P, I, ?, PL, LL, ?> codec,
            Function<String, I> id,
            Object all,
            BiConsumer<Digest, P> person,
            BiConsumer<Digest, PL> personList,
            BiConsumer<Digest, LL> linkList) {
        /** Its requests for all are of the codec's own type. */
        @SuppressWarnings("unchecked")
        Marshaller<Object> alls() {
            return (Marshaller<Object>) codec.all();
        }
    }

    private PersonClient(InetSocketAddress peer, Messages<P, I, PL, LL> messages) {
        this.messages = messages;
        var codec = messages.codec;
        channel = NettyChannelBuilder.forAddress(peer).usePlaintext().build();
        listPersons = PeopleGrpc.getListPersonsMethod().toBuilder(messages.alls(), codec.personList())
                .build();
        getPerson = PeopleGrpc.getGetPersonMethod().toBuilder(codec.personId(), codec.person())
                .build();
        getPersonLinks = PeopleGrpc.getGetPersonLinksMethod().toBuilder(codec.personId(), codec.linkList())
                .build();
        createPerson = PeopleGrpc.getCreatePersonMethod().toBuilder(codec.person(), codec.person())
                .build();
    }

    static List<Http.Route> protobuf(InetSocketAddress peer) {
        var all = ListPersonsRequest.getDefaultInstance();
        Function<String, PersonId> id =
                text -> PersonId.newBuilder().setId(text).build();
        return routes(peer, new Messages<>(Codec.protobuf(), id, all, Digest::add, Digest::add, Digest::add));
    }

    static List<Http.Route> json(InetSocketAddress peer) {
        var all = new Person.Nothing();
        return routes(peer, new Messages<>(Codec.json(), Person.Id::new, all, Digest::add, Digest::add, Digest::add));
    }

    static List<Http.Route> avro(InetSocketAddress peer) {
        // Before any of Avro's classes: they are read by what it sets.
        var codec = Codec.avro();
        var all = new avro.ListPersonsRequest();
        return routes(peer, new Messages<>(codec, avro.PersonId::new, all, Digest::add, Digest::add, Digest::add));
    }

    /** The paths of the workload, with one channel for all. */
    private static <P, I, PL, LL> List<Http.Route> routes(InetSocketAddress peer, Messages<P, I, PL, LL> messages) {
        var client = new PersonClient<>(peer, messages);
        return List.of(
                new Http.Route("GET", "/call/listPersons", client::listPersons),
                new Http.Route("GET", "/call/getPerson/{id}", client::getPerson),
                new Http.Route("GET", "/call/getPersonLinks/{id}", client::getPersonLinks),
                new Http.Route("POST", "/call/createPerson", client::createPerson));
    }

    // Handlers

    /** Answers GET /call/listPersons. */
    private Http.Reply listPersons(String none, byte[] body) {
        return timed(digest -> messages.personList.accept(digest, call(listPersons, messages.all)));
    }

    /** Answers GET /call/getPerson/{id}. */
    private Http.Reply getPerson(String id, byte[] body) {
        return timed(digest -> messages.person.accept(digest, call(getPerson, messages.id.apply(id))));
    }

    /** Answers GET /call/getPersonLinks/{id}. */
    private Http.Reply getPersonLinks(String id, byte[] body) {
        return timed(digest -> messages.linkList.accept(digest, call(getPersonLinks, messages.id.apply(id))));
    }

    /** Answers POST /call/createPerson: its body is decoded before the time begins. */
    private Http.Reply createPerson(String none, byte[] body) {
        P person;
        try {
            var read = Codec.readJson(new ByteArrayInputStream(body), Person.class);
            person = messages.codec.forms().person().apply(read);
        } catch (IOException e) {
            return Http.problem(400, "the body is no person");
        }
        return timed(digest -> messages.person.accept(digest, call(createPerson, person)));
    }

    // Client

    /** Calls the peer, as a generated stub does. */
    private <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
        return ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, request);
    }

    /** A call whose reply is read into a digest. */
    private interface Call {
        void make(Digest digest);
    }

    /** Makes a call and tells how long it took. */
    private Http.Reply timed(Call call) {
        Digest digest = new Digest();
        long start = System.nanoTime();
        try {
            makeOrNotFound(call, digest);
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() == Status.Code.UNAVAILABLE) {
                // Otherwise calls fail at once for a second and more, though the peer may be there again.
                channel.enterIdle();
            }
            return noReply();
        } catch (RuntimeException e) { // where a message in a list is null
            return noReply();
        }
        long duration = System.nanoTime() - start;
        String text = "{\"duration_ns\": " + duration + ", \"calls\": 1, \"digest\": \"" + digest.hex() + "\"}";
        return new Http.Reply(200, "application/json", text);
    }

    private static void makeOrNotFound(Call call, Digest digest) {
        try {
            call.make(digest);
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() != Status.Code.NOT_FOUND) {
                throw e;
            }
            digest.add("not found");
        }
    }

    private static Http.Reply noReply() {
        return Http.problem(502, "the peer gave no reply of this operation");
    }
}
