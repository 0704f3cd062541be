import io.grpc.BindableService;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The server of every workload, with grpc-java on Netty. */
final class Server implements Main.Listener {
    /** How long outstanding calls may take after SIGTERM, in ms; the contract allows 5 s in all. */
    private static final int GRACE = 4_000;

    private final io.grpc.Server server;

    // Streams

    /** Sends each message when the client has read enough of those before. */
    static <M> void sendAll(Iterator<M> messages, StreamObserver<M> replies) {
        var call = (ServerCallStreamObserver<M>) replies;
        // Called at first and whenever there is room again.
        call.setOnReadyHandler(new Runnable() {
            private boolean isOver;

            @Override
            public void run() {
                while (call.isReady() && messages.hasNext()) {
                    call.onNext(messages.next());
                }
                if (!messages.hasNext() && !isOver) {
                    isOver = true;
                    call.onCompleted();
                }
            }
        });
        // Otherwise a reply would be an exception where the client has gone.
        call.setOnCancelHandler(() -> {});
    }

    // Life

    Server(InetSocketAddress address, List<BindableService> services) {
        NettyServerBuilder builder = NettyServerBuilder.forAddress(address);
        services.forEach(builder::addService);
        server = builder.build();
    }

    @Override
    public void start() throws IOException {
        server.start();
    }

    @Override
    public int port() {
        return server.getPort();
    }

    @Override
    public void join() {
        try {
            server.awaitTermination();
        } catch (InterruptedException nobodyDoes) { // the end, as after the wait
        }
    }

    /** Answers what was begun with and ends the process with 0; by SIGTERM alone it would tell 143. */
    @Override
    public void stop() {
        try {
            server.shutdown();
            if (!server.awaitTermination(GRACE, TimeUnit.MILLISECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException nobodyDoes) { // the end, as after the wait
        }
        Runtime.getRuntime().halt(0);
    }
}
