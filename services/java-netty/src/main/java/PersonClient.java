import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http.*;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The workload person-client: calls a peer of the workload person over HTTP, in JSON, and tells how long that took. */
final class PersonClient {
    private final Client client;

    private PersonClient(Client client) {
        this.client = client;
    }

    /** The paths of the workload, with one client for all. */
    static List<Server.Route> routes(InetSocketAddress peer, EventLoopGroup group) {
        PersonClient handlers = new PersonClient(new Client(peer, group));
        return List.of(
                new Server.Route("GET", "/call/listPersons", handlers::listPersons),
                new Server.Route("GET", "/call/getPerson/{id}", handlers::getPerson),
                new Server.Route("GET", "/call/getPersonLinks/{id}", handlers::getPersonLinks),
                new Server.Route("POST", "/call/createPerson", handlers::createPerson));
    }

    // Handlers

    /** Answers GET /call/listPersons. */
    private void listPersons(Server.Request request, Consumer<FullHttpResponse> reply) {
        call(() -> get("/person"), Person.PersonList.class, Digest::add, reply);
    }

    /** Answers GET /call/getPerson/{id}. */
    private void getPerson(Server.Request request, Consumer<FullHttpResponse> reply) {
        String id = request.parameters().get(0);
        call(() -> get("/person/" + encoded(id)), Person.class, Digest::add, reply);
    }

    /** Answers GET /call/getPersonLinks/{id}. */
    private void getPersonLinks(Server.Request request, Consumer<FullHttpResponse> reply) {
        String id = request.parameters().get(0);
        call(() -> get("/person/" + encoded(id) + "/links"), Person.LinkList.class, Digest::add, reply);
    }

    /** Answers POST /call/createPerson: its body is decoded before the time begins. */
    private void createPerson(Server.Request request, Consumer<FullHttpResponse> reply) {
        Person person;
        try {
            person = Codec.decode(new ByteBufInputStream(request.body()), Person.class);
        } catch (IOException unreadable) {
            reply.accept(Server.problem(HttpResponseStatus.BAD_REQUEST, "the body is no person in JSON"));
            return;
        }
        call(() -> post("/person", person), Person.class, Digest::add, reply);
    }

    // Calls

    private static FullHttpRequest get(String path) {
        return new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, path);
    }

    private static FullHttpRequest post(String path, Person person) {
        ByteBuf body;
        try {
            body = Codec.encode(person);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path, body);
        request.headers().set(HttpHeaderNames.CONTENT_TYPE, Codec.MEDIA_TYPE);
        HttpUtil.setContentLength(request, body.readableBytes());
        return request;
    }

    /** An id as a segment of a path. */
    private static String encoded(String id) {
        return URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Makes a call and tells how it went. */
    private <M> void call(
            Supplier<FullHttpRequest> request,
            Class<M> type,
            BiConsumer<Digest, M> add,
            Consumer<FullHttpResponse> reply) {
        long start = System.nanoTime();
        client.ask(request, answer -> reply.accept(told(answer.response(), type, add, start)), reply);
    }

    /** Reads every field of the peer's reply, and tells how long the call took until then. */
    private static <M> FullHttpResponse told(
            FullHttpResponse response, Class<M> type, BiConsumer<Digest, M> add, long start) {
        Digest digest = new Digest();
        try {
            switch (response.status().code()) {
                case 200 -> add.accept(digest, Codec.decode(new ByteBufInputStream(response.content()), type));
                case 404 -> digest.add("not found");
                default -> throw new IOException("neither the operation's reply nor *not found*");
            }
        } catch (IOException | RuntimeException e) { // the latter where a message in a list is null
            String text = "the peer gave no reply of this operation";
            return Server.problem(HttpResponseStatus.BAD_GATEWAY, text);
        }
        long duration = System.nanoTime() - start;
        String text = "{\"duration_ns\": " + duration + ", \"calls\": 1, \"digest\": \"" + digest.hex() + "\"}";
        ByteBuf body = Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
        return Server.reply(HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_JSON, body);
    }
}
