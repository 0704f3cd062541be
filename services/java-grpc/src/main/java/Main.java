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
import java.util.logging.LogManager;
import java.util.regex.Pattern;

/**
 * The Java service on grpc-java: configuration and life; README.md has why it is so. Server.java has the server; each
 * workload has its operations in a file of its own, and its lines in the table below.
 */
final class Main {
    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    /** A workload over a protocol, and the services that answer it. */
    private record Offer(
            String workload, String protocol, Function<Person.PeopleFile, List<BindableService>> services) {}

    /** All of them, the defaults first. */
    private static final List<Offer> OFFERS = List.of(
            new Offer("pingpong", "grpc", none -> Grpc.services(versionText())),
            new Offer("person", "grpc", people -> PersonGrpc.protobuf(people, versionText())),
            // Another name of the same.
            new Offer("person", "grpc-protobuf", people -> PersonGrpc.protobuf(people, versionText())),
            new Offer("person", "grpc-json", people -> PersonGrpc.of(people, Codec.json(), versionText())),
            new Offer("person", "grpc-avro", people -> PersonGrpc.of(people, Codec.avro(), versionText())));

    /** The workloads that read a people file in DATA. */
    private static final Set<String> READERS = Set.of("person");

    // Configuration

    /** Where to listen, what to answer, and the people (null: none). */
    private record Configuration(InetAddress host, int port, Offer offer, Person.PeopleFile people) {}

    /** Four numbers from 0 to 255 without leading zeros. The JDK takes `127.1` and plain numbers too. */
    private static final Pattern IPV4 = Pattern.compile("((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(?!$)|$)){4}");
    /** What the JDK takes for an address, right or wrong, without asking the resolver for a name. */
    private static final Pattern IPV6 = Pattern.compile("(?=.*:)[0-9A-Fa-f:][0-9A-Fa-f:.]*(%\\w+)?");

    /** Reads the environment. */
    private static Configuration readConfiguration() {
        String hostText = variable("HOST", "127.0.0.1");
        if (IPV4.matcher(hostText).matches()) {
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
        // Both are the same: Netty turns Nagle's algorithm off by itself.
        oneOf("NAGLE", List.of("off", "default"), "");
        List.of("TLS_CERT", "TLS_KEY", "DIRECT").forEach(name -> oneOf(name, List.of(""), " (not supported)"));
        return new Configuration(host, port, offer, READERS.contains(offer.workload) ? readPeople() : null);
    }

    /** Reads which workload is asked for, and over which protocol. */
    private static Offer readOffer() {
        String workload = oneOf(
                "WORKLOAD", OFFERS.stream().map(Offer::workload).distinct().toList(), "");
        List<Offer> offers =
                OFFERS.stream().filter(offer -> offer.workload.equals(workload)).toList();
        List<String> protocols = offers.stream().map(Offer::protocol).toList();
        String protocol = oneOf("PROTOCOL", protocols, "; the first by default, since there is no `http1-json` here");
        return offers.get(protocols.indexOf(protocol));
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
        var address = new InetSocketAddress(configuration.host, configuration.port);
        var services = configuration.offer.services.apply(configuration.people);
        Server server = new Server(address, services);
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
        return "Java " + System.getProperty("java.version") + " grpc-java " + library;
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
