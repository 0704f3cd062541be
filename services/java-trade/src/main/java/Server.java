import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The server of JSON and SOAP: routes, replies and connections, with com.sun.net.httpserver. */
final class Server implements Main.Listener {
    /** The module whose version the server bears. */
    static final Module LIBRARY = HttpServer.class.getModule();
    /** How long outstanding requests may take after SIGTERM, in ms; the contract allows 5 s in all. */
    private static final int GRACE = 4_000;
    /** How long of it the listener stays open, in ms: {@link #stop} has why. */
    private static final int SHORT_GRACE = 50;

    private final HttpServer server;
    private final ExecutorService executor = Executors.newCachedThreadPool();

    // Replies

    /** What a handler is asked; the parameters are the decoded segments that its pattern has in braces. */
    record Request(HttpExchange exchange, List<String> parameters) {
        /** The first header of that name; null where there is none. */
        String header(String name) {
            return exchange.getRequestHeaders().getFirst(name);
        }

        /** The whole body. */
        byte[] body() throws IOException {
            return exchange.getRequestBody().readAllBytes();
        }
    }

    /** A whole reply. */
    record Reply(int status, String type, byte[] body, Map<String, String> headers) {
        Reply(int status, String type, byte[] body) {
            this(status, type, body, Map.of());
        }
    }

    /** Says what was wrong, in JSON. */
    static Reply problem(int status, String text) throws IOException {
        return problem(status, text, Map.of());
    }

    private static Reply problem(int status, String text, Map<String, String> headers) throws IOException {
        return new Reply(status, Codec.MEDIA_TYPE, Codec.write(Map.of("error", text)), headers);
    }

    /** Answers every path that the contract does not name. */
    private static Reply notFound() throws IOException {
        return problem(404, "there is nothing at this path");
    }

    /** Answers every method but these on a known path. */
    private static Reply methodNotAllowed(Collection<String> methods) throws IOException {
        String allow = String.join(", ", methods);
        return problem(405, "allowed here: " + allow, Map.of("Allow", allow));
    }

    /** Writes a whole reply with its length. */
    private static void send(HttpExchange exchange, Reply reply) throws IOException {
        var headers = exchange.getResponseHeaders();
        headers.set("Content-Type", reply.type);
        // By hand for HEAD, for which the server takes no length. Where no body follows, its word for that is -1.
        headers.set("Content-Length", String.valueOf(reply.body.length));
        reply.headers.forEach(headers::set);
        boolean isBare = exchange.getRequestMethod().equals("HEAD") || reply.body.length == 0;
        exchange.sendResponseHeaders(reply.status, isBare ? -1 : reply.body.length);
        if (!isBare) {
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(reply.body);
            }
        }
    }

    // Router

    /** Answers a request. */
    interface Handler {
        Reply answer(Request request) throws IOException, Fault;
    }

    /** The handler of a method, on all paths of a pattern such as /pong/{n}; that of GET answers HEAD too. */
    record Route(String method, String pattern, Handler handler) {}

    /** What follows one segment of a path. The server's own contexts match by prefix, the contract's paths exactly. */
    private static final class Node {
        private final Map<String, Node> segments = new HashMap<>();
        private Node parameter;
        private final Map<String, Handler> handlers = new LinkedHashMap<>();

        /** Adds a route to the tree of which this is the root. */
        void add(Route route) {
            Node node = this;
            for (String segment : route.pattern.split("/", -1)) {
                if (!segment.startsWith("{")) {
                    node = node.segments.computeIfAbsent(segment, absent -> new Node());
                } else {
                    node.parameter = node.parameter == null ? new Node() : node.parameter;
                    node = node.parameter;
                }
            }
            node.handlers.put(route.method, route.handler);
            if (route.method.equals("GET")) {
                node.handlers.put("HEAD", route.handler);
            }
        }

        /** The end of a path, null where there is none; its segments that stand for parameters are put with these. */
        Node find(String path, List<String> parameters) throws Fault {
            Node node = this;
            // Not decoded: what looks like a slash by percent-escapes is part of a segment.
            for (int from = 0, to; node != null && from <= path.length(); from = to + 1) {
                to = path.indexOf('/', from) < 0 ? path.length() : path.indexOf('/', from);
                String segment = path.substring(from, to);
                Node next = node.segments.get(segment);
                if (next == null && node.parameter != null) {
                    parameters.add(decoded(segment));
                }
                node = next == null ? node.parameter : next;
            }
            return node;
        }

        private static String decoded(String segment) throws Fault {
            if (segment.indexOf('%') < 0) {
                return segment;
            }
            try {
                byte[] bytes = URLDecoder.decode(segment.replace("+", "%2B"), StandardCharsets.ISO_8859_1)
                        .getBytes(StandardCharsets.ISO_8859_1);
                return StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(ByteBuffer.wrap(bytes))
                        .toString();
            } catch (CharacterCodingException e) {
                throw new Fault(Fault.Kind.WRONG, "the path has a broken escape");
            }
        }
    }

    private static Reply answer(HttpExchange exchange, Node root) throws IOException {
        try {
            return route(exchange, root);
        } catch (Fault fault) {
            return problem(fault.kind.status, fault.getMessage());
        }
    }

    private static Reply route(HttpExchange exchange, Node root) throws IOException, Fault {
        List<String> parameters = new ArrayList<>();
        Node node = root.find(exchange.getRequestURI().getRawPath(), parameters);
        if (node == null || node.handlers.isEmpty()) {
            return notFound();
        }
        Handler handler = node.handlers.get(exchange.getRequestMethod());
        return handler == null
                ? methodNotAllowed(node.handlers.keySet())
                : handler.answer(new Request(exchange, parameters));
    }

    // Connections

    /** Opens the listener, for these routes and `/version`. */
    Server(InetSocketAddress address, boolean nagle, List<Route> routes, String version) throws IOException {
        setConnectionPolicy(nagle);
        Node root = new Node();
        routes.forEach(root::add);
        root.add(new Route(
                "GET", "/version", request -> new Reply(200, "text/plain", version.getBytes(StandardCharsets.UTF_8))));
        // As many may wait to be accepted as the system lets; the JDK's default is 50.
        server = HttpServer.create(address, Integer.MAX_VALUE);
        server.setExecutor(executor);
        server.createContext("/", exchange -> send(exchange, answer(exchange, root)));
    }

    /** The contract's policy for connections. The JDK's server reads these once, when the first one is made. */
    private static void setConnectionPolicy(boolean nagle) {
        System.setProperty("sun.net.httpserver.nodelay", String.valueOf(!nagle));
        // No limit of idle connections, nor of their time (in s); with none, nothing looks for them either (every ms).
        System.setProperty("sun.net.httpserver.maxIdleConnections", String.valueOf(Integer.MAX_VALUE));
        System.setProperty("sun.net.httpserver.idleInterval", String.valueOf(Integer.MAX_VALUE));
        System.setProperty("sun.net.httpserver.clockTick", String.valueOf(Integer.MAX_VALUE));
        // A request's body that nobody reads is passed over, however long, and does not end the connection.
        System.setProperty("sun.net.httpserver.drainAmount", String.valueOf(Long.MAX_VALUE));
    }

    @Override
    public void start() {
        server.start();
    }

    @Override
    public int port() {
        return server.getAddress().getPort();
    }

    /**
     * Answers what was begun with and ends the process with 0. Only the server's own stop closes its listener, but once
     * no handler is at work it cuts off heads half read, and JDK 17's waits in vain where none was: so it comes second.
     * Whatever has sent its first byte is at work in the executor, which afterwards takes nothing new.
     */
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
        // A process that ends by SIGTERM would tell 143. The system closes what is still open.
        Runtime.getRuntime().halt(0);
    }
}
