import java.util.Arrays;
import java.util.List;

/** The workload pingpong over HTTP. */
final class Pong {
    // Sizes of a body that the contract allows, in bytes.
    private static final int SMALLEST_BODY = 4;
    private static final int LARGEST_BODY = 100_000_000;

    private Pong() {}

    /** The paths of the workload. */
    static List<Server.Route> routes() {
        return List.of(new Server.Route("GET", "/pong/{n}", Pong::pong));
    }

    /** Answers GET /pong/{n} with p, size - 3 times o, ng. The body is made anew for each request. */
    private static Server.Reply pong(Server.Request request) {
        int size = sizeOf(request);
        if (size < 0) {
            return wrongSize();
        }
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 'o');
        body[0] = 'p';
        body[size - 2] = 'n';
        body[size - 1] = 'g';
        return new Server.Reply(200, "text/plain", body);
    }

    /** The size that the path names; -1 where it is none that is allowed. */
    static int sizeOf(Server.Request request) {
        String text = request.parameters().get(0);
        int size = text.matches("[1-9]\\d{0,8}") ? Integer.parseInt(text) : -1;
        return size >= SMALLEST_BODY && size <= LARGEST_BODY ? size : -1;
    }

    /** Refuses any other size. */
    static Server.Reply wrongSize() {
        return Server.problem(400, "the size must be a whole number from " + SMALLEST_BODY + " to " + LARGEST_BODY);
    }
}
