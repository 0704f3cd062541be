import io.netty.buffer.ByteBufInputStream;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Consumer;

/** The workload person over HTTP: handlers only. */
final class PersonHttp {
    private final Person.People people;

    private PersonHttp(Person.People people) {
        this.people = people;
    }

    /** The paths of the workload. */
    static List<Server.Route> routes(Person.People people) {
        PersonHttp handlers = new PersonHttp(people);
        return List.of(
                new Server.Route("GET", "/person", handlers::listPersons),
                new Server.Route("GET", "/person/{id}", handlers::getPerson),
                new Server.Route("GET", "/person/{id}/links", handlers::getPersonLinks),
                new Server.Route("POST", "/person", handlers::createPerson));
    }

    // Handlers

    /** Answers GET /person. */
    private void listPersons(Server.Request request, Consumer<FullHttpResponse> reply) {
        reply.accept(encoded(people.listPersons()));
    }

    /** Answers GET /person/{id}. */
    private void getPerson(Server.Request request, Consumer<FullHttpResponse> reply) {
        Person person = people.getPerson(request.parameters().get(0));
        reply.accept(
                person == null
                        ? Server.problem(HttpResponseStatus.NOT_FOUND, "no person has this id")
                        : encoded(person));
    }

    /** Answers GET /person/{id}/links. */
    private void getPersonLinks(Server.Request request, Consumer<FullHttpResponse> reply) {
        reply.accept(encoded(people.getPersonLinks(request.parameters().get(0))));
    }

    /** Answers POST /person: the person that was sent, decoded and encoded again. */
    private void createPerson(Server.Request request, Consumer<FullHttpResponse> reply) {
        CharSequence type = HttpUtil.getMimeType(request.head());
        if (type == null || !Codec.MEDIA_TYPE.equalsIgnoreCase(type.toString().trim())) {
            String text = "the `Content-Type` must be `" + Codec.MEDIA_TYPE + "`";
            reply.accept(Server.problem(HttpResponseStatus.UNSUPPORTED_MEDIA_TYPE, text));
            return;
        }
        Person person;
        try {
            person = Codec.decode(new ByteBufInputStream(request.body()), Person.class);
        } catch (IOException unreadable) {
            reply.accept(Server.problem(HttpResponseStatus.BAD_REQUEST, "the body is no person in JSON"));
            return;
        }
        reply.accept(encoded(person));
    }

    private static FullHttpResponse encoded(Object message) {
        try {
            return Server.reply(HttpResponseStatus.OK, Codec.MEDIA_TYPE, Codec.encode(message));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
