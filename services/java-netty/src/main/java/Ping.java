import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http.*;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/** The workload ping: passes requests on to a peer. */
final class Ping {
    private final Client client;

    private Ping(Client client) {
        this.client = client;
    }

    /** The paths of the workload, with one client for all. */
    static List<Server.Route> routes(InetSocketAddress peer, EventLoopGroup group) {
        Ping ping = new Ping(new Client(peer, group));
        return List.of(
                new Server.Route("GET", "/ping/{n}", ping::ping), new Server.Route("GET", "/mping/{n}", ping::mping));
    }

    // Handlers

    /** Answers GET /ping/{n}: the body as it came from the peer. */
    private void ping(Server.Request request, Consumer<FullHttpResponse> reply) {
        relay(request, reply, answer -> {
            FullHttpResponse response = answer.response();
            if (response.status().equals(HttpResponseStatus.OK)) {
                return Server.reply(
                        response.status(),
                        HttpHeaderValues.TEXT_PLAIN,
                        response.content().retain());
            }
            String text = "the peer answered with status " + response.status().code();
            return Server.problem(HttpResponseStatus.BAD_GATEWAY, text);
        });
    }

    /** Answers GET /mping/{n}: how asking the peer went. */
    private void mping(Server.Request request, Consumer<FullHttpResponse> reply) {
        relay(request, reply, answer -> {
            FullHttpResponse response = answer.response();
            String text = "{\"duration_ns\": " + answer.duration() + ", \"length\": "
                    + response.content().readableBytes() + ", \"code\": "
                    + response.status().code() + ", \"retries\": " + answer.retries() + "}";
            ByteBuf body = Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
            return Server.reply(HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_JSON, body);
        });
    }

    /** Asks the peer for the size that the request names. */
    private void relay(
            Server.Request request,
            Consumer<FullHttpResponse> reply,
            Function<Client.Answer, FullHttpResponse> replyTo) {
        int size = Pong.sizeOf(request);
        if (size < 0) {
            reply.accept(Pong.wrongSize());
            return;
        }
        client.ask(
                () -> new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/pong/" + size),
                answer -> reply.accept(replyTo.apply(answer)),
                reply);
    }
}
