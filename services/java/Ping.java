import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The workload ping: passes requests on to a peer with java.net.http, the client that every JDK brings. */
final class Ping {
    /** How often a request is repeated where its connection ended before a byte of the reply came. */
    private static final int MOST_RETRIES = 3;

    /** What PEER looks like; the address within is judged apart. */
    private static final Pattern PEER = Pattern.compile("([\\d.]+|\\[([^\\[\\]]*:[^\\[\\]]*)]):(\\d{1,5})");

    /** What the client says where a connection ended before a byte came: it has no exception of its own for that. */
    private static final String NO_BYTES = "HTTP/1.1 header parser received no bytes";

    private final String peer;
    private final HttpClient client;

    /** A reply that came whole, how often it was asked for again, and how long that took in all, in ns. */
    private record Answer(HttpResponse<byte[]> response, int retries, long duration) {}

    private Ping(String peer) {
        this.peer = peer;
        // Idle connections are kept (in s), not dropped after 20 minutes, or 30 s as of JDK 20.
        System.setProperty("jdk.httpclient.keepalive.timeout", String.valueOf(Integer.MAX_VALUE));
        // Over HTTP/1.1: by default each request would offer the peer HTTP/2.
        client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .proxy(HttpClient.Builder.NO_PROXY)
                .build();
    }

    /** What is answered at which folder, by a client of the peer that `PEER` names. */
    static Map<String, Pong.SizedHandler> handlers(String peer) throws Pong.Refusal {
        Matcher parts = PEER.matcher(peer);
        boolean isPeer = parts.matches()
                && Pong.addressOf(parts.group(2) == null ? parts.group(1) : parts.group(2))
                        .isPresent();
        int port = isPeer ? Integer.parseInt(parts.group(3)) : 0;
        if (port < 1 || port > 65535) {
            throw new Pong.Refusal("PEER", peer, "host:port, such as 127.0.0.1:8080 or [::1]:8080");
        }
        Ping ping = new Ping(peer);
        return Map.of("/ping/", ping::ping, "/mping/", ping::mping);
    }

    // Handlers

    /** Answers GET /ping/{n}: the body as it came from the peer. */
    private void ping(HttpExchange exchange, int size) throws IOException {
        Optional<Answer> answer = ask(size);
        if (answer.isEmpty()) {
            noReply(exchange);
        } else if (answer.get().response.statusCode() == 200) {
            Pong.reply(exchange, 200, "text/plain", answer.get().response.body());
        } else {
            Pong.problem(
                    exchange,
                    502,
                    "the peer answered with status " + answer.get().response.statusCode());
        }
    }

    /** Answers GET /mping/{n}: how asking the peer went. */
    private void mping(HttpExchange exchange, int size) throws IOException {
        Optional<Answer> answer = ask(size);
        if (answer.isEmpty()) {
            noReply(exchange);
            return;
        }
        HttpResponse<byte[]> response = answer.get().response;
        String text = "{\"duration_ns\": " + answer.get().duration + ", \"length\": " + response.body().length
                + ", \"code\": " + response.statusCode() + ", \"retries\": " + answer.get().retries + "}";
        Pong.reply(exchange, 200, "application/json", text.getBytes(StandardCharsets.UTF_8));
    }

    /** Answers where the peer is not there, or went away within its reply. */
    private void noReply(HttpExchange exchange) throws IOException {
        Pong.problem(exchange, 502, "no whole reply came from the peer " + peer);
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
