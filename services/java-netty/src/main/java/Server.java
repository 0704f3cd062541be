import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.*;
import io.netty.channel.*;
import io.netty.channel.group.*;
import io.netty.channel.socket.InternetProtocolFamily;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import io.netty.handler.flow.FlowControlHandler;
import io.netty.util.CharsetUtil;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.channels.spi.SelectorProvider;
import java.util.*;
import java.util.function.Consumer;

/** The server of every workload: routes, replies and connections, with Netty. */
final class Server {
    // After SIGTERM, in ms: until what was sent before it is read, and for what is outstanding; 5 s in all are allowed.
    private static final int SHORT_GRACE = 300;
    private static final int GRACE = 4_000;

    // Replies

    /** What a handler is asked; the parameters are the decoded segments that its pattern has in braces. */
    record Request(HttpRequest head, List<String> parameters, ByteBuf body) {}

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

    /** Answers every path that the contract does not name. */
    private static FullHttpResponse notFound() {
        return problem(HttpResponseStatus.NOT_FOUND, "there is nothing at this path");
    }

    /** Answers every method but these on a known path. */
    private static FullHttpResponse methodNotAllowed(Collection<String> methods) {
        String allow = String.join(", ", methods);
        FullHttpResponse response = problem(HttpResponseStatus.METHOD_NOT_ALLOWED, "allowed here: " + allow);
        response.headers().set(HttpHeaderNames.ALLOW, allow);
        return response;
    }

    // Router

    /** Answers a request, at once or later. */
    interface Handler {
        void answer(Request request, Consumer<FullHttpResponse> reply);
    }

    /** The handler of a method, on all paths of a pattern such as /pong/{n}; that of GET answers HEAD too. */
    record Route(String method, String pattern, Handler handler) {}

    /** What follows one segment of a path. */
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
        Node find(String path, List<String> parameters) {
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

        /** Broken escapes are an exception, at which the connection is closed. */
        private static String decoded(String segment) {
            return segment.indexOf('%') < 0 ? segment : QueryStringDecoder.decodeComponent(segment.replace("+", "%2B"));
        }
    }

    // Connections

    private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final Node root = new Node();

    /** A server for the routes of a workload and what is in every one. */
    Server(List<Route> routes, String version) {
        routes.forEach(root::add);
        root.add(new Route("GET", "/version", (request, reply) -> {
            ByteBuf body = Unpooled.copiedBuffer(version, CharsetUtil.UTF_8);
            reply.accept(reply(HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN, body));
        }));
    }

    /** Opens the listener. */
    Channel listen(InetSocketAddress address, boolean nagle, EventLoopGroup group) throws SocketException {
        InternetProtocolFamily family = InternetProtocolFamily.of(address.getAddress());
        ChannelFuture bound = new ServerBootstrap()
                .group(group)
                // Of that family alone: otherwise 0.0.0.0 would be a socket of IPv6 that takes both.
                .channelFactory(() -> new NioServerSocketChannel(SelectorProvider.provider(), family))
                .childOption(ChannelOption.TCP_NODELAY, nagle ? null : true)
                // A connection is read when the reply before is written, so that replies keep their order.
                .childOption(ChannelOption.AUTO_READ, false)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new HttpServerExpectContinueHandler());
                        channel.pipeline().addLast(new FlowControlHandler(), new HttpServerKeepAliveHandler());
                        channel.pipeline().addLast(new Connection());
                    }
                })
                .bind(address)
                .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new SocketException(bound.cause().getMessage());
        }
        return bound.channel();
    }

    /** Answers what was begun with and ends the process with 0; by SIGTERM alone it would tell 143. */
    void stop(Channel listener) {
        listener.close().awaitUninterruptibly();
        connections.newCloseFuture().awaitUninterruptibly(SHORT_GRACE);
        connections.forEach(open -> open.pipeline().fireUserEventTriggered("stop"));
        connections.newCloseFuture().awaitUninterruptibly(GRACE);
        Runtime.getRuntime().halt(0);
    }

    /** Answers on one connection, one by one. */
    private final class Connection extends SimpleChannelInboundHandler<HttpObject> {
        private HttpRequest head; // null: no request is at work
        private List<String> parameters;
        private Handler handler;
        private ByteBuf body;
        private boolean isLast;

        @Override
        public void channelActive(ChannelHandlerContext context) {
            connections.add(context.channel());
            next(context);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
            if (part instanceof HttpRequest begun) {
                route(begun);
            }
            // What is wrong with a body is wrong with its request.
            head.setDecoderResult(part.decoderResult());
            if (body != null && part instanceof HttpContent content) {
                body.writeBytes(content.content());
            }
            if (part instanceof LastHttpContent) {
                answer(reply -> context.writeAndFlush(reply).addListener(written -> next(context)));
            } else {
                context.read();
            }
        }

        /** Finds the handler. Bodies are kept for the handlers of other methods than GET, all others are passed over. */
        private void route(HttpRequest begun) {
            head = begun;
            body = null;
            parameters = new ArrayList<>();
            Node node = root.find(new QueryStringDecoder(head.uri()).rawPath(), parameters);
            Map<String, Handler> handlers = node == null ? Map.of() : node.handlers;
            handler = handlers.get(head.method().name());
            if (handlers.isEmpty()) {
                handler = (request, reply) -> reply.accept(notFound());
            } else if (handler == null) {
                handler = (request, reply) -> reply.accept(methodNotAllowed(handlers.keySet()));
            } else if (!head.method().equals(HttpMethod.GET) && !head.method().equals(HttpMethod.HEAD)) {
                body = Unpooled.buffer();
            }
        }

        private void answer(Consumer<FullHttpResponse> reply) {
            if (head.decoderResult().isFailure()) {
                isLast = true;
                reply.accept(problem(HttpResponseStatus.BAD_REQUEST, "this is not HTTP"));
            } else {
                handler.answer(new Request(head, parameters, body == null ? Unpooled.EMPTY_BUFFER : body), reply);
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            isLast |= event.equals("stop");
            if (isLast && head == null) {
                context.close();
            }
        }

        /** Waits for the next request, or for none. */
        private void next(ChannelHandlerContext context) {
            head = null;
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
    }
}
