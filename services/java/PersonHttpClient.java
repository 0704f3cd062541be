import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Calls a peer of the workload person over HTTP, in JSON, with java.net.http. */
final class PersonHttpClient implements PersonClient.Calls<Person> {
    private final String persons;
    private final HttpClient client = Ping.client();

    PersonHttpClient(String peer) {
        persons = "http://" + peer + "/person";
    }

    @Override
    public Person message(Person person) {
        return person;
    }

    @Override
    public void listPersons(Digest digest) throws IOException {
        call(request(""), digest, Person.Persons.class, digest::add);
    }

    @Override
    public void getPerson(String id, Digest digest) throws IOException {
        call(request("/" + encoded(id)), digest, Person.class, digest::add);
    }

    @Override
    public void getPersonLinks(String id, Digest digest) throws IOException {
        call(request("/" + encoded(id) + "/links"), digest, Person.Links.class, digest::add);
    }

    @Override
    public void createPerson(Person person, Digest digest) throws IOException {
        var post = request("")
                .header("Content-Type", Codec.MEDIA_TYPE)
                .POST(BodyPublishers.ofByteArray(Codec.write(person)));
        call(post, digest, Person.class, digest::add);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(persons + path));
    }

    /** An id as a segment of a path. */
    private static String encoded(String id) {
        return URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private <M> void call(HttpRequest.Builder request, Digest digest, Class<M> type, Consumer<M> add)
            throws IOException {
        HttpResponse<byte[]> response;
        try {
            response = client.send(request.build(), BodyHandlers.ofByteArray());
        } catch (InterruptedException nobodyDoes) {
            throw new IOException(nobodyDoes);
        }
        switch (response.statusCode()) {
            case 200 -> add.accept(Codec.read(response.body(), type));
            case 404 -> digest.add("not found");
            default -> throw new IOException("the peer answered with status " + response.statusCode());
        }
    }
}
