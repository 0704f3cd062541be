import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.NetUtil;
import io.netty.util.Version;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.file.*;
import java.util.List;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The Java service on Netty: configuration and life; README.md has why it is so. Server.java has the server; each workload
 * has its handlers in a file of its own, and its line in the table below.
 */
final class Main {
    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    /** What a workload reads beside what all do. */
    private enum Needs {
        NOTHING,
        PEER,
        PEER_AND_PROTOCOL,
        DATA
    }

    /** A workload over a protocol, and what it answers; one that relays does so on the threads of the group. */
    private record Offer(
            String workload,
            String protocol,
            Needs needs,
            BiFunction<Configuration, EventLoopGroup, List<Server.Route>> routes) {}

    /** All of them, the defaults first. */
    private static final List<Offer> OFFERS = List.of(
            new Offer("pingpong", "http1-json", Needs.NOTHING, (given, group) -> Pong.routes()),
            new Offer("ping", "http1-json", Needs.PEER, (given, group) -> Ping.routes(given.peer, group)),
            new Offer("person", "http1-json", Needs.DATA, (given, group) -> PersonHttp.routes(given.people)),
            new Offer(
                    "person-client",
                    "http1-json",
                    Needs.PEER_AND_PROTOCOL,
                    (given, group) -> PersonClient.routes(given.peer, group)));

    // Configuration

    /**
     * Where to listen, what to answer, whether Nagle's algorithm is the library's affair; whom to ask and the people file
     * are null where they are not needed.
     */
    private record Configuration(
            InetAddress host, int port, Offer offer, boolean nagle, InetSocketAddress peer, Person.People people) {}

    /** What PEER looks like; the address within is judged apart. */
    private static final Pattern PEER = Pattern.compile("([\\d.]+|\\[[^\\[\\]]*:[^\\[\\]]*]):(\\d{1,5})");

    /** Reads the environment. */
    private static Configuration readConfiguration() {
        String hostText = variable("HOST", "127.0.0.1");
        InetAddress host = hostText.startsWith("[") ? null : NetUtil.createInetAddressFromIpAddressString(hostText);
        if (host == null) {
            throw refuse("HOST", hostText, "an IP address");
        }
        String portText = variable("PORT", "8080");
        int port = portText.matches("\\d{1,9}") ? Integer.parseInt(portText) : -1;
        if (port < 0 || port > 65535) {
            throw refuse("PORT", portText, "0 to 65535");
        }
        Offer offer = readOffer();
        boolean asks = offer.needs == Needs.PEER || offer.needs == Needs.PEER_AND_PROTOCOL;
        InetSocketAddress peer = asks ? readPeer(variable("PEER", "")) : null;
        if (offer.needs == Needs.PEER_AND_PROTOCOL) {
            oneOf("PEER_PROTOCOL", List.of("http1-json"));
        }
        boolean nagle = oneOf("NAGLE", List.of("off", "default")).equals("default");
        List.of("TLS_CERT", "TLS_KEY", "DIRECT").forEach(name -> oneOf(name, List.of("")));
        Person.People people = offer.needs == Needs.DATA ? readPeople(variable("DATA", "")) : null;
        return new Configuration(host, port, offer, nagle, peer, people);
    }

    /** Reads which workload is asked for, and over which protocol. */
    private static Offer readOffer() {
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

    /** Reads PEER. */
    private static InetSocketAddress readPeer(String text) {
        Matcher parts = PEER.matcher(text);
        InetAddress address = parts.matches() ? NetUtil.createInetAddressFromIpAddressString(parts.group(1)) : null;
        int port = address == null ? 0 : Integer.parseInt(parts.group(2));
        if (port < 1 || port > 65535) {
            throw refuse("PEER", text, "host:port, such as 127.0.0.1:8080 or [::1]:8080");
        }
        return new InetSocketAddress(address, port);
    }

    /** Reads the people file in the folder that DATA names. */
    private static Person.People readPeople(String folder) {
        String allowed = "a folder with a people file `people.json`";
        if (folder.isEmpty()) {
            throw refuse("DATA", folder, allowed);
        }
        try {
            return Person.People.read(Path.of(folder));
        } catch (IOException | InvalidPathException e) {
            // Jackson's messages have several lines.
            throw refuse("DATA", folder, allowed + " (" + e.toString().replaceAll("\\s+", " ") + ")");
        }
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

    /** Configures, listens, says so. The threads of the group keep the process alive. */
    private static void run() throws IOException {
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> fail(EXIT_BROKEN, e.toString()));
        Configuration configuration = readConfiguration();
        EventLoopGroup group = new NioEventLoopGroup();
        var address = new InetSocketAddress(configuration.host, configuration.port);
        var server = new Server(configuration.offer.routes.apply(configuration, group), versionText());
        Channel listener;
        try {
            listener = server.listen(address, configuration.nagle, group);
        } catch (SocketException e) {
            throw notBound(configuration, e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> server.stop(listener)));
        if (!variable("RUNTIME_FACTS", "").isEmpty()) {
            Files.writeString(Path.of(variable("RUNTIME_FACTS", "")), runtimeFacts());
        }
        System.out.println("ready " + ((InetSocketAddress) listener.localAddress()).getPort());
    }

    /** In use, without privileges, not ours: Java tells these apart by the system's text, in the user's language. */
    private static IllegalStateException notBound(Configuration configuration, Throwable cause) {
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

    /** What --version and /version answer. */
    private static String versionText() {
        String library = Version.identify().get("netty-codec-http").artifactVersion();
        return "Java " + System.getProperty("java.version") + " netty " + library;
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
