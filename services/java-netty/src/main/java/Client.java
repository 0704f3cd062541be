import io.netty.bootstrap.Bootstrap;
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
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The client of every workload that asks a peer: Netty, over a pool of connections. */
final class Client {
    /** How often a request is repeated where its connection ended before a byte of the reply came. */
    private static final int MOST_RETRIES = 3;

    /** The question that is asked on a connection; none while it is idle. */
    private static final AttributeKey<Question> QUESTION = AttributeKey.valueOf("question");

    /** A reply that came whole, how often it was asked for again, and how long that took in all, in ns. */
    record Answer(FullHttpResponse response, int retries, long duration) {}

    private final String host;
    private final ChannelPool pool;

    Client(InetSocketAddress peer, EventLoopGroup group) {
        host = NetUtil.toSocketAddressString(peer);
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

    /** A question to the peer, from its first attempt to its reply. */
    private static final class Question {
        private final Supplier<FullHttpRequest> request;
        private final Consumer<Answer> answer;
        private final Consumer<FullHttpResponse> noAnswer;
        private final long start = System.nanoTime();
        private int retries;
        private boolean hasBegun;

        Question(Supplier<FullHttpRequest> request, Consumer<Answer> answer, Consumer<FullHttpResponse> noAnswer) {
            this.request = request;
            this.answer = answer;
            this.noAnswer = noAnswer;
        }
    }

    /**
     * Asks the peer, with a request that is made for each attempt. Its response is the library's again once it was taken;
     * where none comes whole, what to answer then is told.
     */
    void ask(Supplier<FullHttpRequest> request, Consumer<Answer> answer, Consumer<FullHttpResponse> noAnswer) {
        ask(new Question(request, answer, noAnswer));
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
            FullHttpRequest request = question.request.get();
            request.headers().set(HttpHeaderNames.HOST, host);
            channel.writeAndFlush(request).addListener(written -> {
                if (!written.isSuccess()) {
                    ended(channel);
                }
            });
        });
    }

    /** Answers where the peer is not there, or went away within its reply. */
    private void noReply(Question question) {
        String text = "no whole reply came from the peer " + host;
        question.noAnswer.accept(Server.problem(HttpResponseStatus.BAD_GATEWAY, text));
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
            question.answer.accept(new Answer(response, question.retries, duration));
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
