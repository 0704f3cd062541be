import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The workload person-client: calls a peer and tells how long that took, over any protocol of the workload person. */
final class PersonClient<P> {
    /**
     * How a peer is called over a protocol whose persons are P. Each call reads every field of its reply into a digest;
     * of *not found* it adds these words. Without such a reply it throws.
     */
    interface Calls<P> {
        /** The message of a person that is to be sent. */
        P message(Person person);

        void listPersons(Digest digest) throws IOException;

        void getPerson(String id, Digest digest) throws IOException;

        void getPersonLinks(String id, Digest digest) throws IOException;

        void createPerson(P person, Digest digest) throws IOException;
    }

    /** One of the calls, with its arguments. */
    private interface Call {
        void make(Digest digest) throws IOException;
    }

    private final Calls<P> calls;

    private PersonClient(Calls<P> calls) {
        this.calls = calls;
    }

    /** The paths of the workload. */
    static <P> List<Server.Route> routes(Calls<P> calls) {
        PersonClient<P> client = new PersonClient<>(calls);
        return List.of(
                new Server.Route("GET", "/call/listPersons", client::listPersons),
                new Server.Route("GET", "/call/getPerson/{id}", client::getPerson),
                new Server.Route("GET", "/call/getPersonLinks/{id}", client::getPersonLinks),
                new Server.Route("POST", "/call/createPerson", client::createPerson));
    }

    // Handlers

    /** Answers GET /call/listPersons. */
    private Server.Reply listPersons(Server.Request request) {
        return timed(calls::listPersons);
    }

    /** Answers GET /call/getPerson/{id}. */
    private Server.Reply getPerson(Server.Request request) {
        String id = request.parameters().get(0);
        return timed(digest -> calls.getPerson(id, digest));
    }

    /** Answers GET /call/getPersonLinks/{id}. */
    private Server.Reply getPersonLinks(Server.Request request) {
        String id = request.parameters().get(0);
        return timed(digest -> calls.getPersonLinks(id, digest));
    }

    /** Answers POST /call/createPerson: its body is decoded before the time begins. */
    private Server.Reply createPerson(Server.Request request) throws IOException {
        P person;
        byte[] body = request.body();
        try {
            person = calls.message(Codec.read(body, Person.class));
        } catch (IOException e) {
            return Server.problem(400, "the body is no person: " + e.getMessage());
        }
        return timed(digest -> calls.createPerson(person, digest));
    }

    /** Makes a call and tells how long it took. */
    private static Server.Reply timed(Call call) {
        Digest digest = new Digest();
        long start = System.nanoTime();
        try {
            call.make(digest);
        } catch (IOException | RuntimeException e) { // the latter where a message in a list is null
            return Server.problem(502, "the peer gave no reply of this operation");
        }
        long duration = System.nanoTime() - start;
        String text = "{\"duration_ns\": " + duration + ", \"calls\": 1, \"digest\": \"" + digest.hex() + "\"}";
        return new Server.Reply(200, "application/json", text.getBytes(StandardCharsets.UTF_8));
    }
}
