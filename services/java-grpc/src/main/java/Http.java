import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The server of a workload over HTTP, with com.sun.net.httpserver. README.md of `java` has why it is so. */
final class Http implements Main.Listener {
    /** The module whose version the server bears. */
    static final Module LIBRARY = HttpServer.class.getModule();
    /** How long outstanding requests may take after SIGTERM, in ms; the contract allows 5 s in all. */
    private static final int GRACE = 4_000;
    /** How long of it the listener stays open, in ms. */
    private static final int SHORT_GRACE = 50;

    private final InetSocketAddress address;
    private final boolean nagle;
    private final List<Route> routes;
    private final ExecutorService executor = Executors.newCachedThreadPool();
    private HttpServer server;

    // Replies

    /** A whole reply. */
    record Reply(int status, String type, String body) {}

    /** Says what was wrong, in JSON; none of our texts needs escapes. */
    static Reply problem(int status, String text) {
        return new Reply(status, "application/json", "{\"error\": \"" + text + "\"}");
    }

    /** Writes a whole reply with its length. */
    private static void send(HttpExchange exchange, Reply reply) throws IOException {
        byte[] body = reply.body.getBytes(StandardCharsets.UTF_8);
        var headers = exchange.getResponseHeaders();
        headers.set("Content-Type", reply.type);
        // By hand for HEAD, for which the server takes no length. Where no body follows, its word for that is -1.
        headers.set("Content-Length", String.valueOf(body.length));
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(reply.status, isHead ? -1 : body.length);
        if (!isHead) {
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        }
    }

    // Router

    /** Answers a request: the decoded segment that its pattern has in braces, and the body. */
    interface Handler {
        Reply answer(String parameter, byte[] body) throws IOException;
    }

    /** The handler of a method, on all paths of a pattern such as /pong/{n}; that of GET answers HEAD too. */
    record Route(String method, String pattern, Handler handler) {
        /** Whether this is about a path, which is not decoded: what looks like a slash by escapes is none. */
        private boolean isOf(String[] path) {
            String[] segments = pattern.split("/", -1);
            for (int i = 0; i < segments.length && segments.length == path.length; i++) {
                if (!segments[i].startsWith("{") && !segments[i].equals(path[i])) {
                    return false;
                }
            }
            return segments.length == path.length;
        }
    }

    /** Finds the handler: no path is of two routes, and no pattern has braces but in its last segment. */
    private Reply answer(HttpExchange exchange) throws IOException {
        String[] path = exchange.getRequestURI().getRawPath().split("/", -1);
        String method = exchange.getRequestMethod();
        for (Route route : routes) {
            if (route.isOf(path)) {
                boolean isGet = route.method.equals("GET");
                if (!method.equals(route.method) && !(isGet && method.equals("HEAD"))) {
                    String allow = isGet ? "GET, HEAD" : route.method;
                    exchange.getResponseHeaders().set("Allow", allow);
                    return problem(405, "allowed here: " + allow);
                }
                String last = path[path.length - 1].replace("+", "%2B");
                byte[] body = isGet ? new byte[0] : exchange.getRequestBody().readAllBytes();
                return route.handler.answer(URLDecoder.decode(last, StandardCharsets.UTF_8), body);
            }
        }
        return problem(404, "there is nothing at this path");
    }

    // Life

    /** A server for the routes of a workload, and for what is in every one. */
    Http(InetSocketAddress address, boolean nagle, List<Route> routes, String version) {
        this.address = address;
        this.nagle = nagle;
        this.routes = new ArrayList<>(routes);
        this.routes.add(new Route("GET", "/version", (none, body) -> new Reply(200, "text/plain", version)));
    }

    @Override
    public void start() throws IOException {
        // Idle connections without limit of number and time; bodies that nobody reads are passed over, however long.
        System.setProperty("sun.net.httpserver.nodelay", String.valueOf(!nagle));
        System.setProperty("sun.net.httpserver.maxIdleConnections", String.valueOf(Integer.MAX_VALUE));
        System.setProperty("sun.net.httpserver.idleInterval", String.valueOf(Integer.MAX_VALUE));
        System.setProperty("sun.net.httpserver.clockTick", String.valueOf(Integer.MAX_VALUE));
        System.setProperty("sun.net.httpserver.drainAmount", String.valueOf(Long.MAX_VALUE));
        server = HttpServer.create(address, Integer.MAX_VALUE);
        server.setExecutor(executor);
        server.createContext("/", exchange -> send(exchange, answer(exchange)));
        server.start();
    }

    @Override
    public int port() {
        return server.getAddress().getPort();
    }

    /** Nothing: the server's own thread keeps the process alive. */
    @Override
    public void join() {}

    @Override
    public void stop() {
        executor.shutdown();
        try {
            if (!executor.awaitTermination(SHORT_GRACE, TimeUnit.MILLISECONDS)) {
                new Thread(() -> server.stop(GRACE / 1_000)).start();
                executor.awaitTermination(GRACE - SHORT_GRACE, TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException nobodyDoes) { // the end, as after the wait
        }
        Runtime.getRuntime().halt(0);
    }
}
