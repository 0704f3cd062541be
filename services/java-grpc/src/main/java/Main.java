import io.grpc.BindableService;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.logging.LogManager;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The Java service on grpc-java: configuration and life; README.md has why it is so. Server.java has the server, Http.java
 * that of person-client; each workload has its operations in a file of its own, and its lines in the table below.
 */
final class Main {
    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    /** A server. */
    interface Listener {
        /** Opens the port. */
        void start() throws IOException;

        int port();

        /** Waits for the end, where nothing else keeps the process alive. */
        void join();

        /** Answers what was begun with and ends the process with 0. */
        void stop();
    }

    /** A workload over a protocol, and the server that answers it. */
    private record Offer(String workload, String protocol, Function<Configuration, Listener> server) {}

    /** All of them, the defaults first. */
    private static final List<Offer> OFFERS = List.of(
            new Offer("pingpong", "grpc", overGrpc(none -> Grpc.services(versionText()))),
            new Offer("person", "grpc", overGrpc(people -> PersonGrpc.protobuf(people, versionText()))),
            // Another name of the same.
            new Offer("person", "grpc-protobuf", overGrpc(people -> PersonGrpc.protobuf(people, versionText()))),
            new Offer("person", "grpc-json", overGrpc(people -> PersonGrpc.of(people, Codec.json(), versionText()))),
            new Offer("person", "grpc-avro", overGrpc(people -> PersonGrpc.of(people, Codec.avro(), versionText()))),
            new Offer(
                    "person-client", "http1-json", c -> new Http(c.address(), c.nagle, c.routes.get(), versionText())));

    /** A protocol over which person-client calls PEER. */
    private record Client(String protocol, Function<InetSocketAddress, List<Http.Route>> routes) {}

    /** All of them, the default first. */
    private static final List<Client> CLIENTS = List.of(
            new Client("grpc", PersonClient::protobuf),
            new Client("grpc-protobuf", PersonClient::protobuf),
            new Client("grpc-json", PersonClient::json),
            new Client("grpc-avro", PersonClient::avro));

    /** The workloads that read a people file in DATA, and those that ask PEER over PEER_PROTOCOL. */
    private static final Set<String> READERS = Set.of("person");

    private static final Set<String> CALLERS = Set.of("person-client");

    private static Function<Configuration, Listener> overGrpc(
            Function<Person.PeopleFile, List<BindableService>> services) {
        return c -> new Server(c.address(), services.apply(c.people));
    }

    // Configuration

    /** What is said where the contract's default protocol is not allowed. */
    private static final String NO_HTTP = "; the first by default, since there is no `http1-json` here";

    /** Where to listen, what to answer, whether Nagle's algorithm stays on, people and routes to PEER (null: none). */
    private record Configuration(
            InetAddress host,
            int port,
            Offer offer,
            boolean nagle,
            Person.PeopleFile people,
            Supplier<List<Http.Route>> routes) {
        InetSocketAddress address() {
            return new InetSocketAddress(host, port);
        }
    }

    /** Four numbers from 0 to 255 without leading zeros. The JDK takes `127.1` and plain numbers too. */
    private static final Pattern IPV4 = Pattern.compile("((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(?!$)|$)){4}");
    /** What the JDK takes for an address, right or wrong, without asking the resolver for a name. */
    private static final Pattern IPV6 = Pattern.compile("(?=.*:)[0-9A-Fa-f:][0-9A-Fa-f:.]*(%\\w+)?");

    /** What PEER looks like; the address within is judged apart. */
    private static final Pattern PEER = Pattern.compile("([\\d.]+|\\[([^\\[\\]]*:[^\\[\\]]*)]):(\\d{1,5})");

    /** Reads the environment. */
    private static Configuration readConfiguration() {
        String hostText = variable("HOST", "127.0.0.1");
        boolean calls = CALLERS.contains(variable("WORKLOAD", ""));
        if (IPV4.matcher(hostText).matches() && !(calls && variable("PEER", "").startsWith("["))) {
            // Otherwise 0.0.0.0 would be a socket of IPv6 that takes both. It is read at the first use of the network.
            System.setProperty("java.net.preferIPv4Stack", "true");
        }
        InetAddress host = addressOf(hostText).orElseThrow(() -> refuse("HOST", hostText, "an IP address"));
        String portText = variable("PORT", "8080");
        int port = portText.matches("\\d{1,9}") ? Integer.parseInt(portText) : -1;
        if (port < 0 || port > 65535) {
            throw refuse("PORT", portText, "0 to 65535");
        }
        Offer offer = readOffer();
        Supplier<List<Http.Route>> routes = calls ? readRoutes() : null;
        // For gRPC both are the same: Netty turns Nagle's algorithm off by itself.
        boolean nagle = oneOf("NAGLE", List.of("off", "default"), "").equals("default");
        List.of("TLS_CERT", "TLS_KEY", "DIRECT").forEach(name -> oneOf(name, List.of(""), " (not supported)"));
        Person.PeopleFile people = READERS.contains(offer.workload) ? readPeople() : null;
        return new Configuration(host, port, offer, nagle, people, routes);
    }

    /** Reads which workload is asked for, and over which protocol. */
    private static Offer readOffer() {
        String workload = oneOf(
                "WORKLOAD", OFFERS.stream().map(Offer::workload).distinct().toList(), "");
        List<Offer> offers =
                OFFERS.stream().filter(offer -> offer.workload.equals(workload)).toList();
        List<String> protocols = offers.stream().map(Offer::protocol).toList();
        String remark = protocols.contains("http1-json") ? "" : NO_HTTP;
        String protocol = oneOf("PROTOCOL", protocols, remark);
        return offers.get(protocols.indexOf(protocol));
    }

    /** Reads whom to ask, and over which protocol. */
    private static Supplier<List<Http.Route>> readRoutes() {
        String text = variable("PEER", "");
        InetSocketAddress peer =
                peerOf(text).orElseThrow(() -> refuse("PEER", text, "host:port, such as 127.0.0.1:8080 or [::1]:8080"));
        List<String> protocols = CLIENTS.stream().map(Client::protocol).toList();
        Client client = CLIENTS.get(protocols.indexOf(oneOf("PEER_PROTOCOL", protocols, NO_HTTP)));
        return () -> client.routes.apply(peer);
    }

    private static Optional<InetSocketAddress> peerOf(String text) {
        Matcher parts = PEER.matcher(text);
        if (!parts.matches()) {
            return Optional.empty();
        }
        int port = Integer.parseInt(parts.group(3));
        return addressOf(parts.group(2) == null ? parts.group(1) : parts.group(2))
                .filter(address -> port >= 1 && port <= 65535)
                .map(address -> new InetSocketAddress(address, port));
    }

    /** Reads the people file. */
    private static Person.PeopleFile readPeople() {
        String folder = variable("DATA", "");
        try {
            return Person.PeopleFile.read(folder);
        } catch (IOException e) {
            throw refuse("DATA", folder, "a folder with a people file; " + e.getMessage());
        }
    }

    /** A variable that takes one of these words, by default the first. */
    private static String oneOf(String name, List<String> words, String remark) {
        String word = variable(name, words.get(0));
        if (!words.contains(word)) {
            throw refuse(name, word, "`" + String.join("`, `", words) + "`" + remark);
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

    /** Configures, listens, says so. The server's threads do not keep the process alive, this one does. */
    private static void run() throws IOException {
        // Each client that breaks the protocol, a message or its connection would be reported on stderr.
        LogManager.getLogManager().reset();
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> fail(EXIT_BROKEN, e.toString()));
        Configuration configuration = readConfiguration();
        Listener server = configuration.offer.server.apply(configuration);
        try {
            server.start();
        } catch (IOException e) {
            throw notBound(configuration, e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
        if (!variable("RUNTIME_FACTS", "").isEmpty()) {
            Files.writeString(Path.of(variable("RUNTIME_FACTS", "")), runtimeFacts());
        }
        System.out.println("ready " + server.port());
        server.join();
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

    /** What --version and the operations of that name answer. */
    private static String versionText() {
        String library = NettyServerBuilder.class.getPackage().getImplementationVersion();
        String http = Http.LIBRARY.getDescriptor().rawVersion().orElse("unknown");
        return "Java " + System.getProperty("java.version") + " grpc-java " + library + " com.sun.net.httpserver "
                + http;
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
