import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/** The workload ping: passes requests on to a peer with java.net.http, the client that every JDK brings. */
final class Ping {
    /** How often a request is repeated where its connection ended before a byte of the reply came. */
    private static final int MOST_RETRIES = 3;

    /** What the client says where a connection ended before a byte came: it has no exception of its own for that. */
    private static final String NO_BYTES = "HTTP/1.1 header parser received no bytes";

    private final String peer;
    private final HttpClient client = client();

    /** A reply that came whole, how often it was asked for again, and how long that took in all, in ns. */
    private record Answer(HttpResponse<byte[]> response, int retries, long duration) {}

    private Ping(String peer) {
        this.peer = peer;
    }

    /** The client of every workload that asks over HTTP. */
    static HttpClient client() {
        // Idle connections are kept (in s), not dropped after 20 minutes, or 30 s as of JDK 20.
        System.setProperty("jdk.httpclient.keepalive.timeout", String.valueOf(Integer.MAX_VALUE));
        // Over HTTP/1.1: by default each request would offer the peer HTTP/2.
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .proxy(HttpClient.Builder.NO_PROXY)
                .build();
    }

    /** The paths of the workload, with one client for all. */
    static List<Server.Route> routes(String peer) {
        Ping ping = new Ping(peer);
        return List.of(
                new Server.Route("GET", "/ping/{n}", ping::ping), new Server.Route("GET", "/mping/{n}", ping::mping));
    }

    // Handlers

    /** Answers GET /ping/{n}: the body as it came from the peer. */
    private Server.Reply ping(Server.Request request) {
        int size = Pong.sizeOf(request);
        if (size < 0) {
            return Pong.wrongSize();
        }
        Optional<Answer> answer = ask(size);
        if (answer.isEmpty()) {
            return noReply();
        }
        HttpResponse<byte[]> response = answer.get().response;
        return response.statusCode() == 200
                ? new Server.Reply(200, "text/plain", response.body())
                : Server.problem(502, "the peer answered with status " + response.statusCode());
    }

    /** Answers GET /mping/{n}: how asking the peer went. */
    private Server.Reply mping(Server.Request request) {
        int size = Pong.sizeOf(request);
        if (size < 0) {
            return Pong.wrongSize();
        }
        Optional<Answer> answer = ask(size);
        if (answer.isEmpty()) {
            return noReply();
        }
        HttpResponse<byte[]> response = answer.get().response;
        String text = "{\"duration_ns\": " + answer.get().duration + ", \"length\": " + response.body().length
                + ", \"code\": " + response.statusCode() + ", \"retries\": " + answer.get().retries + "}";
        return new Server.Reply(200, "application/json", text.getBytes(StandardCharsets.UTF_8));
    }

    /** Answers where the peer is not there, or went away within its reply. */
    private Server.Reply noReply() {
        return Server.problem(502, "no whole reply came from the peer " + peer);
    }

    // Client

    /** Asks the peer and reads the reply to its end; empty where none came whole. */
    private Optional<Answer> ask(int size) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + peer + "/pong/" + size))
                .build();
        long start = System.nanoTime();
        for (int retries = 0; ; retries++) {
            try {
                HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
                return Optional.of(new Answer(response, retries, System.nanoTime() - start));
            } catch (IOException e) {
                if (retries == MOST_RETRIES || !NO_BYTES.equals(e.getMessage())) {
                    return Optional.empty();
                }
            } catch (InterruptedException nobodyDoes) { // the end, as without a reply
                return Optional.empty();
            }
        }
    }
}
