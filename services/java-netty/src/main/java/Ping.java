import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.SimpleChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.*;
import io.netty.util.AttributeKey;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Consumer;

/** The workload ping: passes requests on to a peer with Netty as the client, over a pool of connections. */
final class Ping {
    /** How often a request is repeated where its connection ended before a byte of the reply came. */
    private static final int MOST_RETRIES = 3;

    /** The question that is asked on a connection; none while it is idle. */
    private static final AttributeKey<Question> QUESTION = AttributeKey.valueOf("question");

    private final InetSocketAddress peer;
    private final ChannelPool pool;

    private Ping(InetSocketAddress peer, EventLoopGroup group) {
        this.peer = peer;
        Bootstrap bootstrap =
                new Bootstrap().group(group).channel(NioSocketChannel.class).remoteAddress(peer);
        pool = new SimpleChannelPool(bootstrap, new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                channel.pipeline().addLast(new FirstByte(), new HttpClientCodec());
                channel.pipeline().addLast(new HttpObjectAggregator(Pong.LARGEST_BODY), new Reply());
            }
        });
    }

    /** The paths of the workload, with one client for all. */
    static List<Server.Route> routes(InetSocketAddress peer, EventLoopGroup group) {
        Ping ping = new Ping(peer, group);
        return List.of(
                new Server.Route("GET", "/ping/{n}", ping::ping), new Server.Route("GET", "/mping/{n}", ping::mping));
    }

    // Handlers

    /** Answers GET /ping/{n}: the body as it came from the peer. */
    private void ping(Server.Request request, Consumer<FullHttpResponse> reply) {
        relay(request, reply, (response, retries, duration) -> {
            if (response.status().equals(HttpResponseStatus.OK)) {
                return Server.reply(
                        response.status(),
                        HttpHeaderValues.TEXT_PLAIN,
                        response.content().retain());
            }
            String text = "the peer answered with status " + response.status().code();
            return Server.problem(HttpResponseStatus.BAD_GATEWAY, text);
        });
    }

    /** Answers GET /mping/{n}: how asking the peer went. */
    private void mping(Server.Request request, Consumer<FullHttpResponse> reply) {
        relay(request, reply, (response, retries, duration) -> {
            String text = "{\"duration_ns\": " + duration + ", \"length\": "
                    + response.content().readableBytes() + ", \"code\": "
                    + response.status().code() + ", \"retries\": " + retries + "}";
            ByteBuf body = Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
            return Server.reply(HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_JSON, body);
        });
    }

    /** Asks the peer for the size that the request names. */
    private void relay(Server.Request request, Consumer<FullHttpResponse> reply, Relay relay) {
        int size = Pong.sizeOf(request);
        if (size < 0) {
            reply.accept(Pong.wrongSize());
        } else {
            ask(new Question(size, reply, relay));
        }
    }

    /** Answers where the peer is not there, or went away within its reply. */
    private void noReply(Question question) {
        String text = "no whole reply came from the peer " + NetUtil.toSocketAddressString(peer);
        question.reply.accept(Server.problem(HttpResponseStatus.BAD_GATEWAY, text));
    }

    // Client

    /** Makes the reply from the peer's, which came whole, how often it was asked again, and the ns that took in all. */
    private interface Relay {
        FullHttpResponse replyTo(FullHttpResponse response, int retries, long duration);
    }

    /** A question to the peer, from its first attempt to its reply. */
    private static final class Question {
        private final int size;
        private final Consumer<FullHttpResponse> reply;
        private final Relay relay;
        private final long start = System.nanoTime();
        private int retries;
        private boolean hasBegun;

        Question(int size, Consumer<FullHttpResponse> reply, Relay relay) {
            this.size = size;
            this.reply = reply;
            this.relay = relay;
        }
    }

    /** Asks on a connection that is idle, or on a new one. */
    private void ask(Question question) {
        Future<Channel> acquired = pool.acquire();
        acquired.addListener(done -> {
            if (!done.isSuccess()) {
                noReply(question);
                return;
            }
            Channel channel = acquired.getNow();
            channel.attr(QUESTION).set(question);
            var request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/pong/" + question.size);
            request.headers().set(HttpHeaderNames.HOST, NetUtil.toSocketAddressString(peer));
            channel.writeAndFlush(request).addListener(written -> {
                if (!written.isSuccess()) {
                    ended(channel);
                }
            });
        });
    }

    /** Asks anew where the connection ended before a byte of the reply came; gives up where it ended within. */
    private void ended(Channel channel) {
        Question question = channel.attr(QUESTION).getAndSet(null);
        if (question == null) {
            return;
        }
        channel.close();
        pool.release(channel);
        if (question.hasBegun || question.retries == MOST_RETRIES) {
            noReply(question);
        } else {
            question.retries++;
            ask(question);
        }
    }

    /** Notes that a reply has begun. */
    private static final class FirstByte extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            Question question = context.channel().attr(QUESTION).get();
            if (question != null) {
                question.hasBegun = true;
            }
            context.fireChannelRead(message);
        }
    }

    /** Takes the replies on one connection. */
    private final class Reply extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
            Question question = context.channel().attr(QUESTION).get();
            if (question == null || response.decoderResult().isFailure()) {
                context.close();
                return;
            }
            long duration = System.nanoTime() - question.start;
            context.channel().attr(QUESTION).set(null);
            if (!HttpUtil.isKeepAlive(response)) {
                context.close();
            }
            pool.release(context.channel());
            question.reply.accept(question.relay.replyTo(response, question.retries, duration));
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            ended(context.channel());
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable gone) {
            context.close();
        }
    }
}
