import com.google.protobuf.ByteString;
import io.grpc.BindableService;
import io.grpc.Status;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.stub.StreamObserver;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import weighbridge.pong.v1.*;

/** The workload pingpong over gRPC: the operations of services/proto/pong.proto. */
final class Grpc extends PongGrpc.PongImplBase {
    // Sizes of a body that the contract allows, in bytes, and the longest stream, in messages.
    private static final int SMALLEST_BODY = 4;
    private static final int LARGEST_BODY = 100_000_000;
    private static final int LARGEST_COUNT = 1_000_000;

    private final String version;

    private Grpc(String version) {
        this.version = version;
    }

    /** The operations, and reflection. */
    static List<BindableService> services(String version) {
        return List.of(new Grpc(version), ProtoReflectionServiceV1.newInstance());
    }

    // Handlers

    @Override
    public void pong(PongRequest request, StreamObserver<PongReply> replies) {
        if (isWrong(request.getSize())) {
            replies.onError(wrongSize());
        } else {
            replies.onNext(reply(request.getSize()));
            replies.onCompleted();
        }
    }

    /** Answers as many bodies as the request says, each made when it is its turn. */
    @Override
    public void stream(PongStreamRequest request, StreamObserver<PongReply> replies) {
        long count = Integer.toUnsignedLong(request.getCount());
        if (isWrong(request.getSize())) {
            replies.onError(wrongSize());
        } else if (count > LARGEST_COUNT) {
            replies.onError(invalid("the count must be at most " + LARGEST_COUNT));
        } else {
            Server.sendAll(
                    LongStream.range(0, count)
                            .mapToObj(i -> reply(request.getSize()))
                            .iterator(),
                    replies);
        }
    }

    /** Counts what the client sends. */
    @Override
    public StreamObserver<PongReply> collect(StreamObserver<PongSummary> replies) {
        return new StreamObserver<>() {
            private final PongSummary.Builder summary = PongSummary.newBuilder();

            @Override
            public void onNext(PongReply message) {
                summary.setCount(summary.getCount() + 1);
                summary.setBytes(summary.getBytes() + message.getBody().size());
            }

            @Override
            public void onError(Throwable gone) {}

            @Override
            public void onCompleted() {
                replies.onNext(summary.build());
                replies.onCompleted();
            }
        };
    }

    /** Answers a body for each request, in order. */
    @Override
    public StreamObserver<PongRequest> chat(StreamObserver<PongReply> replies) {
        return new StreamObserver<>() {
            private boolean isOver;

            @Override
            public void onNext(PongRequest request) {
                if (isOver) {
                    return;
                }
                if (isWrong(request.getSize())) {
                    isOver = true;
                    replies.onError(wrongSize());
                } else {
                    replies.onNext(reply(request.getSize()));
                }
            }

            @Override
            public void onError(Throwable gone) {}

            @Override
            public void onCompleted() {
                if (!isOver) {
                    replies.onCompleted();
                }
            }
        };
    }

    @Override
    public void version(VersionRequest request, StreamObserver<VersionReply> replies) {
        replies.onNext(VersionReply.newBuilder().setText(version).build());
        replies.onCompleted();
    }

    // Bodies

    /** A reply with p, size - 3 times o, ng, made anew. */
    private static PongReply reply(int size) {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 'o');
        body[0] = 'p';
        body[size - 2] = 'n';
        body[size - 1] = 'g';
        return PongReply.newBuilder().setBody(ByteString.copyFrom(body)).build();
    }

    /** Whether a size is none that is allowed; what is above 2³¹ comes as a negative one. */
    private static boolean isWrong(int size) {
        return size < SMALLEST_BODY || size > LARGEST_BODY;
    }

    private static RuntimeException wrongSize() {
        return invalid("the size must be a whole number from " + SMALLEST_BODY + " to " + LARGEST_BODY);
    }

    private static RuntimeException invalid(String what) {
        return Status.INVALID_ARGUMENT.withDescription(what).asRuntimeException();
    }
}
