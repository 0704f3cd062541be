import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.logging.LogManager;
import java.util.regex.Pattern;

/**
 * The Java service of the workload trade, over JDBC: configuration and life; README.md has why it is so. Server.java and
 * GrpcServer.java have the servers, Engine.java the brokerage.
 */
final class Main {
    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    /** A server. */
    interface Listener {
        /** Opens the port, and answers. */
        void start() throws IOException;

        int port();

        /** Answers what was begun with and ends the process with 0. */
        void stop();
    }

    /** Makes a server. */
    private interface Making {
        Listener make(Configuration configuration, Engine engine) throws IOException;
    }

    /** A protocol, and the server that answers it. */
    private record Offer(String protocol, Making server) {}

    /** All of them, the default first. */
    private static final List<Offer> OFFERS = List.of(
            new Offer("http1-json", (c, engine) -> overHttp(c, TradeHttp.routes(engine), engine)),
            new Offer("grpc", (c, engine) -> new GrpcServer(c.address(), new TradeGrpc(engine, versionText()))),
            new Offer("soap", (c, engine) -> overHttp(c, TradeSoap.routes(engine), engine)));

    private static Listener overHttp(Configuration configuration, List<Server.Route> routes, Engine engine)
            throws IOException {
        List<Server.Route> all = new ArrayList<>(routes);
        all.addAll(TradeHttp.control(engine));
        return new Server(configuration.address(), configuration.nagle, all, versionText());
    }

    // Configuration

    /** Where to listen and what to speak there, whether Nagle's algorithm stays on, and whether there is no listener. */
    private record Configuration(InetAddress host, int port, Offer offer, boolean nagle, boolean direct) {
        InetSocketAddress address() {
            return new InetSocketAddress(host, port);
        }
    }

    /** Four numbers from 0 to 255 without leading zeros. The JDK takes `127.1` and plain numbers too. */
    private static final Pattern IPV4 = Pattern.compile("((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(?!$)|$)){4}");
    /** What the JDK takes for an address, right or wrong, without asking the resolver for a name. */
    private static final Pattern IPV6 = Pattern.compile("(?=.*:)[0-9A-Fa-f:][0-9A-Fa-f:.]*(%\\w+)?");

    /** Reads the environment but for DATA, STATE and DATABASE. */
    private static Configuration readConfiguration() {
        String hostText = variable("HOST", "127.0.0.1");
        if (IPV4.matcher(hostText).matches()) {
            // Otherwise 0.0.0.0 would be a socket of IPv6 that takes both. It is read at the first use of the network.
            System.setProperty("java.net.preferIPv4Stack", "true");
        }
        InetAddress host = addressOf(hostText).orElseThrow(() -> refuse("HOST", hostText, "an IP address"));
        String portText = variable("PORT", "8080");
        int port = portText.matches("0|[1-9]\\d{0,8}") ? Integer.parseInt(portText) : -1;
        if (port < 0 || port > 65535) {
            throw refuse("PORT", portText, "0 to 65535");
        }
        oneOf("WORKLOAD", List.of("trade"));
        List<String> protocols = OFFERS.stream().map(Offer::protocol).toList();
        Offer offer = OFFERS.get(protocols.indexOf(oneOf("PROTOCOL", protocols)));
        boolean nagle = oneOf("NAGLE", List.of("off", "default")).equals("default");
        for (String name : List.of("TLS_CERT", "TLS_KEY")) {
            if (!variable(name, "").isEmpty()) {
                throw refuse(name, variable(name, ""), "nothing (not supported by this service)");
            }
        }
        String direct = variable("DIRECT", "");
        if (!direct.isEmpty() && !direct.equals("1")) {
            throw refuse("DIRECT", direct, "`1`");
        }
        return new Configuration(host, port, offer, nagle, !direct.isEmpty());
    }

    /** Reads the files in DATA. */
    private static Population readPopulation() {
        String folder = variable("DATA", "");
        String allowed = "a folder with `stocks.txt`, `users.txt` and `workload.txt`";
        if (folder.isEmpty()) {
            throw refuse("DATA", folder, allowed + " (it is required by `WORKLOAD` `trade`)");
        }
        try {
            return Population.read(Path.of(folder));
        } catch (Population.Damage damage) {
            throw refuse("DATA", folder, allowed + " (" + damage.getMessage() + ")");
        }
    }

    /** Opens the database that DATABASE names, with that population. */
    private static Engine open(Population population) {
        String text = variable("DATABASE", "memory");
        String allowed = "`memory`, `file`, `derby`, `postgres:host=… user=… dbname=…`";
        try {
            if (text.equals("file")) {
                return openFile(population);
            }
            return new Engine(
                    switch (text) {
                        case "memory" -> EngineH2.inMemory();
                        case "derby" -> new EngineDerby();
                        default -> {
                            if (!text.startsWith("postgres:")) {
                                throw refuse("DATABASE", text, allowed);
                            }
                            yield EnginePostgres.of(text.substring("postgres:".length()));
                        }
                    },
                    population);
        } catch (Fault fault) {
            throw refuse("DATABASE", text, allowed + " (" + fault.getMessage() + ")");
        }
    }

    private static Engine openFile(Population population) {
        String folder = variable("STATE", "");
        String problem;
        if (folder.isEmpty()) {
            problem = "it is required by `DATABASE` `file`";
        } else if (!Files.isDirectory(Path.of(folder))) {
            problem = "it is no folder";
        } else if (Files.exists(Path.of(folder, "trade.mv.db"))) {
            problem = "`trade.mv.db` is there already";
        } else {
            try {
                return new Engine(EngineH2.inFolder(Path.of(folder)), population);
            } catch (Fault fault) {
                problem = fault.getMessage();
            }
        }
        throw refuse("STATE", folder, "an empty folder (" + problem + ")");
    }

    /** A variable that takes one of these words, by default the first. */
    private static String oneOf(String name, List<String> words) {
        String word = variable(name, words.get(0));
        if (!words.contains(word)) {
            throw refuse(name, word, "`" + String.join("`, `", words) + "`");
        }
        return word;
    }

    /** A variable's value; set to the empty text counts as unset. */
    private static String variable(String name, String byDefault) {
        String text = System.getenv(name);
        return text == null || text.isEmpty() ? byDefault : text;
    }

    /** Reads an address, never a name. */
    private static Optional<InetAddress> addressOf(String text) {
        try {
            boolean isAddress =
                    IPV4.matcher(text).matches() || IPV6.matcher(text).matches();
            return isAddress ? Optional.of(InetAddress.getByName(text)) : Optional.empty();
        } catch (UnknownHostException malformed) {
            return Optional.empty();
        }
    }

    // Main

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 0) {
            run();
        } else if (arguments.length == 1 && arguments[0].equals("--version")) {
            System.out.println(versionText());
        } else {
            fail(EXIT_CONFIGURATION, "argument \"" + arguments[0] + "\", allowed: `--version` alone");
        }
    }

    /** Configures, fills the database, says so, serves. */
    private static void run() throws IOException {
        // Libraries would report each client that breaks a message or its connection on stderr.
        LogManager.getLogManager().reset();
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> fail(EXIT_BROKEN, e.toString()));
        Configuration configuration = readConfiguration();
        if (configuration.direct) {
            Population population = readPopulation();
            Direct direct = new Direct(open(population), population.sessions());
            Runtime.getRuntime().addShutdownHook(new Thread(direct::stop));
            ready("direct");
            direct.serve(System.out);
            Runtime.getRuntime().halt(0);
        }
        listen(configuration);
    }

    /** A wrong address is told before the data is read, which takes longer. */
    private static void listen(Configuration configuration) throws IOException {
        try {
            new ServerSocket(configuration.port, 1, configuration.host).close();
        } catch (IOException e) {
            throw notBound(configuration, e);
        }
        Engine engine = open(readPopulation());
        Listener server;
        try {
            server = configuration.offer.server.make(configuration, engine);
            server.start();
        } catch (IOException e) {
            throw notBound(configuration, e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
        ready(String.valueOf(server.port()));
        // gRPC's threads do not keep the process alive.
        new Thread(Main::waitForEver).start();
    }

    private static void waitForEver() {
        try {
            Thread.currentThread().join();
        } catch (InterruptedException nobodyDoes) {
            throw new IllegalStateException(nobodyDoes);
        }
    }

    private static void ready(String where) throws IOException {
        String file = variable("RUNTIME_FACTS", "");
        if (!file.isEmpty()) {
            Files.writeString(Path.of(file), runtimeFacts());
        }
        System.out.println("ready " + where);
    }

    /** In use, without privileges, not ours: Java tells these apart by the system's text, in the user's language. */
    private static IllegalStateException notBound(Configuration configuration, IOException cause) {
        String where = "`PORT` " + configuration.port + " on `HOST` " + configuration.host.getHostAddress();
        try (ServerSocket other = new ServerSocket(0, 1, configuration.host)) {
            // Below 1024 a port needs privileges, or somebody answers there.
            if (configuration.port < 1024) {
                new Socket(other.getInetAddress(), configuration.port).close();
            }
            return fail(EXIT_PORT_IN_USE, where + " is in use, choose another");
        } catch (IOException notInUse) {
            return fail(EXIT_CONFIGURATION, where + " cannot be used: " + cause.getMessage());
        }
    }

    /** What the JVM saw of the machine. */
    private static String runtimeFacts() {
        String collector = ManagementFactory.getGarbageCollectorMXBeans().get(0).getName();
        String facts = "cores=" + Runtime.getRuntime().availableProcessors() + " gc=" + collector.replace(' ', '_');
        return facts + " heap_bytes=" + Runtime.getRuntime().maxMemory() + "\n";
    }

    /** What --version and /version answer: the HTTP server is a module of the JDK, the libraries' versions are the build's. */
    private static String versionText() {
        String http = Server.LIBRARY.getDescriptor().rawVersion().orElse("unknown");
        try (InputStream libraries = Main.class.getResourceAsStream("/libraries")) {
            return "Java " + System.getProperty("java.version") + " com.sun.net.httpserver " + http + " "
                    + new String(libraries.readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException e) {
            return fail(EXIT_BROKEN, e.toString()).toString();
        }
    }

    /** Ends the process over a variable that is wrong. */
    private static IllegalStateException refuse(String name, String value, String allowed) {
        return fail(EXIT_CONFIGURATION, "`" + name + "` is \"" + value + "\", allowed: " + allowed);
    }

    /** Writes one line on stderr and ends the process at once; what it returns is for the compiler. */
    private static IllegalStateException fail(int code, String message) {
        System.err.println(message);
        Runtime.getRuntime().halt(code);
        return new IllegalStateException(message);
    }
}
