import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * The Java service: pingpong, and ping (Ping.java), over http1-json with com.sun.net.httpserver, as the contract in
 * services/README.md has it and no more. README.md has why.
 */
final class Pong {
    // Sizes of a body that the contract allows, in bytes.
    private static final int SMALLEST_BODY = 4;
    private static final int LARGEST_BODY = 100_000_000;
    /** How long outstanding requests may take after SIGTERM, in ms; the contract allows 5 s in all. */
    private static final int GRACE = 4_000;
    /** How long of it the listener stays open, in ms: {@link #stop} has why. */
    private static final int SHORT_GRACE = 50;

    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    // Configuration

    /** Where to listen, what to answer at which folder, and whether Nagle's algorithm stays on. */
    private record Configuration(InetAddress host, int port, Map<String, SizedHandler> handlers, boolean nagle) {}

    /** What is wrong with the configuration. The message is the line for stderr. */
    @SuppressWarnings("serial")
    static final class Refusal extends Exception {
        private final int exitCode;

        Refusal(int exitCode, String message) {
            super(message);
            this.exitCode = exitCode;
        }

        Refusal(String name, String value, String allowed) {
            this(EXIT_CONFIGURATION, "`" + name + "` is \"" + value + "\", allowed: " + allowed);
        }
    }

    /** Four numbers from 0 to 255 without leading zeros. The JDK takes `127.1` and plain numbers too. */
    private static final Pattern IPV4 = Pattern.compile("((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(?!$)|$)){4}");
    /** What the JDK takes for an address, right or wrong, without asking the resolver for a name. */
    private static final Pattern IPV6 = Pattern.compile("(?=.*:)[0-9A-Fa-f:][0-9A-Fa-f:.]*(%\\w+)?");

    /** Reads the environment. */
    private static Configuration readConfiguration() throws Refusal {
        String hostText = variable("HOST", "127.0.0.1");
        String peer = variable("WORKLOAD", "").equals("ping") ? variable("PEER", "") : "";
        if (IPV4.matcher(hostText).matches() && !peer.startsWith("[")) {
            // Otherwise 0.0.0.0 would be a socket of IPv6 that takes both. It is read at the first use of the network.
            System.setProperty("java.net.preferIPv4Stack", "true");
        }
        InetAddress host = addressOf(hostText).orElseThrow(() -> new Refusal("HOST", hostText, "an IP address"));
        String portText = variable("PORT", "8080");
        int port = portText.matches("\\d{1,9}") ? Integer.parseInt(portText) : -1;
        if (port < 0 || port > 65535) {
            throw new Refusal("PORT", portText, "0 to 65535");
        }
        boolean relays = oneOf("WORKLOAD", "pingpong", "ping").equals("ping");
        oneOf("PROTOCOL", "http1-json");
        Map<String, SizedHandler> handlers = relays ? Ping.handlers(peer) : Map.of("/pong/", Pong::pong);
        boolean nagle = oneOf("NAGLE", "off", "default").equals("default");
        for (String name : List.of("TLS_CERT", "TLS_KEY", "DIRECT")) {
            if (!variable(name, "").isEmpty()) {
                throw new Refusal(name, variable(name, ""), "nothing (not supported by this service)");
            }
        }
        return new Configuration(host, port, handlers, nagle);
    }

    /** A variable that takes one of these words, by default the first. */
    private static String oneOf(String name, String... words) throws Refusal {
        String word = variable(name, words[0]);
        if (!List.of(words).contains(word)) {
            throw new Refusal(name, word, "`" + String.join("`, `", words) + "`");
        }
        return word;
    }

    /** A variable's value; set to the empty text counts as unset. */
    private static String variable(String name, String byDefault) {
        String text = System.getenv(name);
        return text == null || text.isEmpty() ? byDefault : text;
    }

    /** Reads an address, never a name. */
    static Optional<InetAddress> addressOf(String text) {
        try {
            boolean isAddress =
                    IPV4.matcher(text).matches() || IPV6.matcher(text).matches();
            return isAddress ? Optional.of(InetAddress.getByName(text)) : Optional.empty();
        } catch (UnknownHostException malformed) {
            return Optional.empty();
        }
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

    // Handlers

    /** Answers a path that ends with a size, which is right. */
    interface SizedHandler {
        void handle(HttpExchange exchange, int size) throws IOException;
    }

    /** Answers GET /pong/{n} with p, size - 3 times o, ng. The body is made anew for each request. */
    private static void pong(HttpExchange exchange, int size) throws IOException {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 'o');
        body[0] = 'p';
        body[size - 2] = 'n';
        body[size - 1] = 'g';
        reply(exchange, 200, "text/plain", body);
    }

    /** Answers GET /version. */
    private static void version(HttpExchange exchange) throws IOException {
        reply(exchange, 200, "text/plain", versionText().getBytes(StandardCharsets.UTF_8));
    }

    /** Answers every path that the contract does not name. */
    private static void notFound(HttpExchange exchange) throws IOException {
        problem(exchange, 404, "there is nothing at this path");
    }

    /** Answers every method but GET and HEAD on a known path. */
    private static void methodNotAllowed(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().set("Allow", "GET, HEAD");
        problem(exchange, 405, "allowed here: GET and HEAD");
    }

    /** Replies with what was wrong, in JSON; none of our texts needs escapes. */
    static void problem(HttpExchange exchange, int status, String text) throws IOException {
        reply(exchange, status, "application/json", ("{\"error\": \"" + text + "\"}").getBytes(StandardCharsets.UTF_8));
    }

    /** Writes a whole reply with its length. */
    static void reply(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        // By hand for HEAD, for which the server takes no length. Where no body follows, its word for that is -1.
        exchange.getResponseHeaders().set("Content-Length", String.valueOf(body.length));
        boolean isBare = exchange.getRequestMethod().equals("HEAD") || body.length == 0;
        exchange.sendResponseHeaders(status, isBare ? -1 : body.length);
        if (!isBare) {
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        }
    }

    // Server

    /** Finds the handler. The server's own contexts match by prefix, the contract's paths exactly. */
    private static void route(HttpExchange exchange, Map<String, SizedHandler> handlers) throws IOException {
        // Not decoded: what looks like a slash by percent-escapes is part of {n}.
        String path = exchange.getRequestURI().getRawPath();
        String folder = path.substring(0, path.lastIndexOf('/') + 1);
        String method = exchange.getRequestMethod();
        if (!handlers.containsKey(folder) && !path.equals("/version")) {
            notFound(exchange);
        } else if (!method.equals("GET") && !method.equals("HEAD")) {
            methodNotAllowed(exchange);
        } else if (path.equals("/version")) {
            version(exchange);
        } else {
            String text = exchange.getRequestURI().getPath().substring(folder.length());
            int size = text.matches("[1-9]\\d{0,8}") ? Integer.parseInt(text) : -1;
            if (size >= SMALLEST_BODY && size <= LARGEST_BODY) {
                handlers.get(folder).handle(exchange, size);
            } else {
                problem(exchange, 400, "the size must be a whole number from " + SMALLEST_BODY + " to " + LARGEST_BODY);
            }
        }
    }

    /** Opens the listener. */
    private static HttpServer listen(Configuration configuration) throws Refusal {
        setConnectionPolicy(configuration.nagle);
        try {
            // As many may wait to be accepted as the system lets; the JDK's default is 50.
            return HttpServer.create(new InetSocketAddress(configuration.host, configuration.port), Integer.MAX_VALUE);
        } catch (IOException e) {
            throw refusalOf(configuration, e);
        }
    }

    /** In use, without privileges, not ours: the JDK tells these apart by the system's text, in the user's language. */
    private static Refusal refusalOf(Configuration configuration, IOException cause) {
        String where = "`PORT` " + configuration.port + " on `HOST` " + configuration.host.getHostAddress();
        try (ServerSocket other = new ServerSocket(0, 1, configuration.host)) {
            // Below 1024 a port needs privileges, or somebody answers there.
            if (configuration.port < 1024) {
                new Socket(other.getInetAddress(), configuration.port).close();
            }
            return new Refusal(EXIT_PORT_IN_USE, where + " is in use, choose another");
        } catch (IOException notInUse) {
            return new Refusal(EXIT_CONFIGURATION, where + " cannot be used: " + cause.getMessage());
        }
    }

    /**
     * Answers what was begun with and ends the process with 0. Only the server's own stop closes its listener, but once
     * no handler is at work it cuts off heads half read, and JDK 17's waits in vain where none was: so it comes second.
     * Whatever has sent its first byte is at work in the executor, which afterwards takes nothing new.
     */
    private static void stop(HttpServer server, ExecutorService executor) {
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

    // Main

    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            run();
        } else if (arguments.length == 1 && arguments[0].equals("--version")) {
            System.out.println(versionText());
        } else {
            fail(EXIT_CONFIGURATION, "argument \"" + arguments[0] + "\", allowed: `--version` alone");
        }
    }

    /** Configures, listens, says so. The server's own thread keeps the process alive. */
    private static void run() {
        try {
            Configuration configuration = readConfiguration();
            HttpServer server = listen(configuration);
            ExecutorService executor = Executors.newCachedThreadPool();
            server.setExecutor(executor);
            server.createContext("/", exchange -> route(exchange, configuration.handlers));
            Thread.setDefaultUncaughtExceptionHandler((thread, e) -> fail(EXIT_BROKEN, e.toString()));
            server.start();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, executor)));
            writeRuntimeFacts();
            System.out.println("ready " + server.getAddress().getPort());
        } catch (Refusal refusal) {
            fail(refusal.exitCode, refusal.getMessage());
        } catch (IOException e) {
            fail(EXIT_BROKEN, e.toString());
        }
    }

    /** Says what the JVM saw of the machine, where it is asked to. */
    private static void writeRuntimeFacts() throws IOException {
        String file = variable("RUNTIME_FACTS", "");
        if (!file.isEmpty()) {
            var collectors = ManagementFactory.getGarbageCollectorMXBeans();
            String collector = collectors.get(0).getName().replace(' ', '_');
            String facts = "cores=" + Runtime.getRuntime().availableProcessors() + " gc=" + collector;
            Files.writeString(
                    Path.of(file), facts + " heap_bytes=" + Runtime.getRuntime().maxMemory() + "\n");
        }
    }

    /** What --version and /version answer: the server is a module of the JDK, which bears the version. */
    private static String versionText() {
        String library =
                HttpServer.class.getModule().getDescriptor().rawVersion().orElse("unknown");
        return "Java " + System.getProperty("java.version") + " com.sun.net.httpserver " + library;
    }

    /** Writes one line on stderr and ends the process at once. */
    private static void fail(int code, String message) {
        System.err.println(message);
        Runtime.getRuntime().halt(code);
    }
}
