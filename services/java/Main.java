import com.sun.xml.ws.util.Version;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.thrift.TException;
import org.apache.thrift.TProcessor;

/**
 * The Java service, with com.sun.net.httpserver, JAX-WS and Thrift: configuration and life, as the contract in services/README.md
 * has it and no more. Server.java and Thrift.java have the servers; each workload has its handlers in a file of its own,
 * and its lines in the table below. README.md has why.
 */
final class Main {
    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    /** A server whose port is open. */
    interface Listener {
        void start();

        int port();

        /** Answers what was begun with and ends the process with 0. */
        void stop();
    }

    /** Opens the port of a server. */
    private interface Opening {
        Listener open(Configuration configuration) throws IOException;
    }

    /** A workload over a protocol, and the server that answers it. */
    private record Offer(String workload, String protocol, Opening server) {}

    /** All of them, the defaults first. */
    private static final List<Offer> OFFERS = List.of(
            new Offer("pingpong", "http1-json", overHttp(c -> Pong.routes())),
            new Offer("ping", "http1-json", overHttp(c -> Ping.routes(c.peer))),
            new Offer("person", "http1-json", overHttp(c -> PersonHttp.routes(c.people))),
            new Offer("person", "soap", Main::personOverSoap),
            new Offer("person", "thrift-binary", c -> Thrift.binary(c.address(), personOverThrift(c))),
            new Offer("person", "thrift-compact", c -> Thrift.compact(c.address(), personOverThrift(c))),
            new Offer("person-client", "http1-json", overHttp(c -> PersonClient.routes(c.client.calls.apply(c.peer)))));

    /** A protocol over which person-client calls PEER. */
    private record Client(String protocol, Function<String, PersonClient.Calls<?>> calls) {}

    /** All of them, the default first. */
    private static final List<Client> CLIENTS = List.of(
            new Client("http1-json", PersonHttpClient::new),
            new Client("soap", PersonSoapClient::new),
            new Client("thrift-binary", PersonThriftClient::binary),
            new Client("thrift-compact", PersonThriftClient::compact));

    /** The workloads that ask PEER, those that do it over PEER_PROTOCOL, and those that read a people file in DATA. */
    private static final Set<String> RELAYS = Set.of("ping", "person-client");

    private static final Set<String> CALLERS = Set.of("person-client");

    private static final Set<String> READERS = Set.of("person");

    private static Opening overHttp(Function<Configuration, List<Server.Route>> routes) {
        return c -> new Server(c.address(), c.nagle, routes.apply(c), versionText());
    }

    private static Server personOverSoap(Configuration configuration) throws IOException {
        Server server = new Server(configuration.address(), configuration.nagle, List.of(), versionText());
        PersonSoap.publish(configuration.people, server.context("/person"));
        return server;
    }

    private static TProcessor personOverThrift(Configuration configuration) {
        return PersonThrift.operations(configuration.people, versionText());
    }

    // Configuration

    /** Where to listen, what to answer, whom to ask and how, whether Nagle's algorithm stays on, and the people. */
    private record Configuration(
            InetAddress host,
            int port,
            Offer offer,
            String peer,
            Client client,
            boolean nagle,
            Person.PeopleFile people) {
        InetSocketAddress address() {
            return new InetSocketAddress(host, port);
        }
    }

    /** What is wrong with the configuration. The message is the line for stderr. */
    @SuppressWarnings("serial")
    private static final class Refusal extends Exception {
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

    /** What PEER looks like; the address within is judged apart. */
    private static final Pattern PEER = Pattern.compile("([\\d.]+|\\[([^\\[\\]]*:[^\\[\\]]*)]):(\\d{1,5})");

    /** Reads the environment. */
    private static Configuration readConfiguration() throws Refusal {
        String hostText = variable("HOST", "127.0.0.1");
        String workload = variable("WORKLOAD", OFFERS.get(0).workload);
        boolean relays = RELAYS.contains(workload);
        String peer = relays ? variable("PEER", "") : "";
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
        Offer offer = readOffer();
        if (relays && !isPeer(peer)) {
            throw new Refusal("PEER", peer, "host:port, such as 127.0.0.1:8080 or [::1]:8080");
        }
        Client client = CALLERS.contains(workload) ? readClient() : null;
        boolean nagle = oneOf("NAGLE", List.of("off", "default")).equals("default");
        for (String name : List.of("TLS_CERT", "TLS_KEY", "DIRECT")) {
            if (!variable(name, "").isEmpty()) {
                throw new Refusal(name, variable(name, ""), "nothing (not supported by this service)");
            }
        }
        Person.PeopleFile people = READERS.contains(workload) ? readPeople() : null;
        return new Configuration(host, port, offer, peer, client, nagle, people);
    }

    /** Reads the people file. */
    private static Person.PeopleFile readPeople() throws Refusal {
        String folder = variable("DATA", "");
        try {
            return Person.PeopleFile.read(folder);
        } catch (IOException e) {
            throw new Refusal("DATA", folder, "a folder with a people file; " + e.getMessage());
        }
    }

    /** Reads which workload is asked for, and over which protocol. */
    private static Offer readOffer() throws Refusal {
        String workload = oneOf(
                "WORKLOAD", OFFERS.stream().map(Offer::workload).distinct().toList());
        List<Offer> offers =
                OFFERS.stream().filter(offer -> offer.workload.equals(workload)).toList();
        String protocol = oneOf("PROTOCOL", offers.stream().map(Offer::protocol).toList());
        return offers.stream()
                .filter(offer -> offer.protocol.equals(protocol))
                .findFirst()
                .orElseThrow();
    }

    /** Reads over which protocol PEER is called. */
    private static Client readClient() throws Refusal {
        List<String> protocols = CLIENTS.stream().map(Client::protocol).toList();
        return CLIENTS.get(protocols.indexOf(oneOf("PEER_PROTOCOL", protocols)));
    }

    /** Whether a text is the address of a service. */
    private static boolean isPeer(String text) {
        Matcher parts = PEER.matcher(text);
        if (!parts.matches()) {
            return false;
        }
        String host = parts.group(2) == null ? parts.group(1) : parts.group(2);
        int port = Integer.parseInt(parts.group(3));
        return addressOf(host).isPresent() && port >= 1 && port <= 65535;
    }

    /** A variable that takes one of these words, by default the first. */
    private static String oneOf(String name, List<String> words) throws Refusal {
        String word = variable(name, words.get(0));
        if (!words.contains(word)) {
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
            Listener server = listen(configuration);
            Thread.setDefaultUncaughtExceptionHandler((thread, e) -> fail(EXIT_BROKEN, e.toString()));
            server.start();
            Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
            writeRuntimeFacts();
            System.out.println("ready " + server.port());
        } catch (Refusal refusal) {
            fail(refusal.exitCode, refusal.getMessage());
        } catch (IOException e) {
            fail(EXIT_BROKEN, e.toString());
        }
    }

    /** Opens the listener. */
    private static Listener listen(Configuration configuration) throws Refusal {
        try {
            return configuration.offer.server.open(configuration);
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

    /** What --version and /version answer: the HTTP server is a module of the JDK, which bears the version. */
    private static String versionText() {
        String library = Server.LIBRARY.getDescriptor().rawVersion().orElse("unknown");
        String soap = Version.class.getPackage().getImplementationVersion();
        String thrift = TException.class.getPackage().getImplementationVersion();
        return "Java " + System.getProperty("java.version") + " com.sun.net.httpserver " + library + " jaxws-rt " + soap
                + " libthrift " + thrift;
    }

    /** Writes one line on stderr and ends the process at once. */
    private static void fail(int code, String message) {
        System.err.println(message);
        Runtime.getRuntime().halt(code);
    }
}
