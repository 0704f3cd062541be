import io.grpc.BindableService;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** The server of gRPC, with grpc-java on Netty. */
final class GrpcServer implements Main.Listener {
    /** How long outstanding calls may take after SIGTERM, in ms; the contract allows 5 s in all. */
    private static final int GRACE = 4_000;

    private final io.grpc.Server server;

    /** Of these operations, and reflection. */
    GrpcServer(InetSocketAddress address, BindableService operations) {
        server = NettyServerBuilder.forAddress(address)
                .addService(operations)
                .addService(ProtoReflectionServiceV1.newInstance())
                .build();
    }

    @Override
    public void start() throws IOException {
        server.start();
    }

    @Override
    public int port() {
        return server.getPort();
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
