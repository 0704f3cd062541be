import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.*;
import io.netty.channel.*;
import io.netty.channel.group.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.InternetProtocolFamily;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import io.netty.handler.flow.FlowControlHandler;
import io.netty.util.*;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.*;
import java.util.*;
import java.util.function.Consumer;

/** The Java service on Netty; README.md has why it is so. One of these answers on one connection, one by one. */
final class Pong extends SimpleChannelInboundHandler<HttpObject> {
    // Sizes of a body that the contract allows, in bytes.
    private static final int SMALLEST_BODY = 4;
    static final int LARGEST_BODY = 100_000_000;
    // After SIGTERM, in ms: until what was sent before it is read, and for what is outstanding; 5 s in all are allowed.
    private static final int SHORT_GRACE = 300;
    private static final int GRACE = 4_000;
    private static final int EXIT_BROKEN = 1;
    private static final int EXIT_CONFIGURATION = 2;
    private static final int EXIT_PORT_IN_USE = 3;

    // Configuration

    /** Where to listen, whom to ask (null: nobody), and whether Nagle's algorithm is the library's affair. */
    private record Configuration(InetAddress host, int port, InetSocketAddress peer, boolean nagle) {}

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
        boolean relays = oneOf("WORKLOAD", "pingpong", "ping").equals("ping");
        oneOf("PROTOCOL", "http1-json");
        InetSocketAddress peer = relays ? Ping.readPeer(variable("PEER", "")) : null;
        boolean nagle = oneOf("NAGLE", "off", "default").equals("default");
        List.of("TLS_CERT", "TLS_KEY", "DIRECT").forEach(name -> oneOf(name, ""));
        return new Configuration(host, port, peer, nagle);
    }

    /** A variable that takes one of these words, by default the first. */
    private static String oneOf(String name, String... words) {
        String word = variable(name, words[0]);
        if (!List.of(words).contains(word)) {
            throw refuse(name, word, "`" + String.join("`, `", words) + "`");
        }
        return word;
    }

    /** A variable's value; set to the empty text counts as unset. */
    private static String variable(String name, String byDefault) {
        String text = System.getenv(name);
        return text == null || text.isEmpty() ? byDefault : text;
    }

    // Handlers

    /** Answers a path that ends with a size, which is right, at once or later. */
    interface SizedHandler {
        void answer(int size, Consumer<FullHttpResponse> reply);
    }

    /** Answers GET /pong/{n} with p, size - 3 times o, ng. The body is made anew for each request. */
    private static void pong(int size, Consumer<FullHttpResponse> reply) {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 'o');
        body[0] = 'p';
        body[size - 2] = 'n';
        body[size - 1] = 'g';
        reply.accept(reply(HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN, Unpooled.wrappedBuffer(body)));
    }

    /** Answers GET /version. */
    private static FullHttpResponse version() {
        ByteBuf body = Unpooled.copiedBuffer(versionText(), CharsetUtil.UTF_8);
        return reply(HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN, body);
    }

    /** Answers every path that the contract does not name. */
    private static FullHttpResponse notFound() {
        return problem(HttpResponseStatus.NOT_FOUND, "there is nothing at this path");
    }

    /** Answers every method but GET and HEAD on a known path. */
    private static FullHttpResponse methodNotAllowed() {
        FullHttpResponse response = problem(HttpResponseStatus.METHOD_NOT_ALLOWED, "allowed here: GET and HEAD");
        response.headers().set(HttpHeaderNames.ALLOW, "GET, HEAD");
        return response;
    }

    /** Says what was wrong, in JSON; none of our texts needs escapes. */
    static FullHttpResponse problem(HttpResponseStatus status, String text) {
        ByteBuf body = Unpooled.copiedBuffer("{\"error\": \"" + text + "\"}", CharsetUtil.UTF_8);
        return reply(status, HttpHeaderValues.APPLICATION_JSON, body);
    }

    /** A reply with that body. */
    static FullHttpResponse reply(HttpResponseStatus status, CharSequence type, ByteBuf body) {
        var reply = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body);
        reply.headers().set(HttpHeaderNames.CONTENT_TYPE, type);
        HttpUtil.setContentLength(reply, body.readableBytes());
        return reply;
    }

    // Server

    /** The connections that are open. */
    private static final ChannelGroup CONNECTIONS = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

    private final Map<String, SizedHandler> handlers;
    private HttpRequest request; // null: none is at work
    private boolean isLast;

    private Pong(Map<String, SizedHandler> handlers) {
        this.handlers = handlers;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        CONNECTIONS.add(context.channel());
        next(context);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
        request = part instanceof HttpRequest head ? head : request;
        // Bodies are passed over; what is wrong with one is wrong with its request.
        request.setDecoderResult(part.decoderResult());
        if (part instanceof LastHttpContent) {
            route(reply -> context.writeAndFlush(reply).addListener(written -> next(context)));
        } else {
            context.read();
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        isLast |= event.equals("stop");
        if (isLast && request == null) {
            context.close();
        }
    }

    /** Waits for the next request, or for none. */
    private void next(ChannelHandlerContext context) {
        request = null;
        if (isLast) {
            context.close();
        } else {
            context.read();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable gone) {
        context.close();
    }

    /** Finds the handler. */
    private void route(Consumer<FullHttpResponse> reply) {
        // Not decoded: what looks like a slash by percent-escapes is part of {n}.
        String path = new QueryStringDecoder(request.uri()).rawPath();
        String folder = path.substring(0, path.lastIndexOf('/') + 1);
        if (request.decoderResult().isFailure()) {
            isLast = true;
            reply.accept(problem(HttpResponseStatus.BAD_REQUEST, "this is not HTTP"));
        } else if (!handlers.containsKey(folder) && !path.equals("/version")) {
            reply.accept(notFound());
        } else if (!request.method().equals(HttpMethod.GET) && !request.method().equals(HttpMethod.HEAD)) {
            reply.accept(methodNotAllowed());
        } else if (path.equals("/version")) {
            reply.accept(version());
        } else {
            // Broken escapes are an exception, at which the connection is closed.
            String text = QueryStringDecoder.decodeComponent(path.substring(folder.length()));
            int size = text.matches("[1-9]\\d{0,8}") ? Integer.parseInt(text) : -1;
            if (size >= SMALLEST_BODY && size <= LARGEST_BODY) {
                handlers.get(folder).answer(size, reply);
            } else {
                reply.accept(problem(HttpResponseStatus.BAD_REQUEST, "size: " + SMALLEST_BODY + " to " + LARGEST_BODY));
            }
        }
    }

    /** Opens the listener. */
    private static Channel listen(Configuration configuration, EventLoopGroup group) {
        Map<String, SizedHandler> handlers =
                configuration.peer == null ? Map.of("/pong/", Pong::pong) : Ping.handlers(configuration.peer, group);
        InternetProtocolFamily family = InternetProtocolFamily.of(configuration.host);
        ChannelFuture bound = new ServerBootstrap()
                .group(group)
                // Of that family alone: otherwise 0.0.0.0 would be a socket of IPv6 that takes both.
                .channelFactory(() -> new NioServerSocketChannel(SelectorProvider.provider(), family))
                .childOption(ChannelOption.TCP_NODELAY, configuration.nagle ? null : true)
                // A connection is read when the reply before is written, so that replies keep their order.
                .childOption(ChannelOption.AUTO_READ, false)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new HttpServerExpectContinueHandler());
                        channel.pipeline().addLast(new FlowControlHandler(), new HttpServerKeepAliveHandler());
                        channel.pipeline().addLast(new Pong(handlers));
                    }
                })
                .bind(configuration.host, configuration.port)
                .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw notBound(configuration, bound.cause());
        }
        return bound.channel();
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

    /** Answers what was begun with and ends the process with 0; by SIGTERM alone it would tell 143. */
    private static void stop(Channel listener) {
        listener.close().awaitUninterruptibly();
        CONNECTIONS.newCloseFuture().awaitUninterruptibly(SHORT_GRACE);
        CONNECTIONS.forEach(open -> open.pipeline().fireUserEventTriggered("stop"));
        CONNECTIONS.newCloseFuture().awaitUninterruptibly(GRACE);
        Runtime.getRuntime().halt(0);
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
        Channel listener = listen(readConfiguration(), new NioEventLoopGroup());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(listener)));
        if (!variable("RUNTIME_FACTS", "").isEmpty()) {
            Files.writeString(Path.of(variable("RUNTIME_FACTS", "")), runtimeFacts());
        }
        System.out.println("ready " + ((InetSocketAddress) listener.localAddress()).getPort());
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
    static IllegalStateException refuse(String name, String value, String allowed) {
        return fail(EXIT_CONFIGURATION, "`" + name + "` is \"" + value + "\", allowed: " + allowed);
    }

    /** Writes one line on stderr and ends the process at once; what it returns is for the compiler. */
    private static IllegalStateException fail(int code, String message) {
        System.err.println(message);
        Runtime.getRuntime().halt(code);
        return new IllegalStateException(message);
    }
}
