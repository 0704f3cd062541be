import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The workload person over HTTP, in JSON. */
final class PersonHttp {
    private final Person.People<Person, Person.Link, Person.Persons, Person.Links> people;

    private PersonHttp(Person.PeopleFile file) {
        people = new Person.People<>(file, FORMS);
    }

    /** The paths of the workload. */
    static List<Server.Route> routes(Person.PeopleFile file) {
        PersonHttp person = new PersonHttp(file);
        return List.of(
                new Server.Route("GET", "/person", person::listPersons),
                new Server.Route("POST", "/person", person::createPerson),
                new Server.Route("GET", "/person/{id}", person::getPerson),
                new Server.Route("GET", "/person/{id}/links", person::getPersonLinks));
    }

    // Handlers

    /** Answers GET /person: all persons. */
    private Server.Reply listPersons(Server.Request request) throws IOException {
        return reply(people.listPersons());
    }

    /** Answers GET /person/{id}. */
    private Server.Reply getPerson(Server.Request request) throws IOException {
        Optional<Person> person = people.getPerson(request.parameters().get(0));
        return person.isPresent() ? reply(person.get()) : Server.problem(404, "no person has this id");
    }

    /** Answers GET /person/{id}/links: the links with that id on either side. */
    private Server.Reply getPersonLinks(Server.Request request) throws IOException {
        return reply(people.getPersonLinks(request.parameters().get(0)));
    }

    /** Answers POST /person with the person in its body, decoded and encoded again. */
    private Server.Reply createPerson(Server.Request request) throws IOException {
        if (!isOurs(request.header("Content-Type"))) {
            return Server.problem(415, "the media type must be " + Codec.MEDIA_TYPE);
        }
        Person person;
        byte[] body = request.body();
        try {
            person = Codec.read(body, Person.class);
        } catch (IOException e) {
            return Server.problem(400, "the body is no person: " + e.getMessage());
        }
        return reply(person);
    }

    /** Whether a media type is the codec's; its parameters are passed over. */
    private static boolean isOurs(String type) {
        return type != null && type.split(";", 2)[0].strip().equalsIgnoreCase(Codec.MEDIA_TYPE);
    }

    private static Server.Reply reply(Object message) throws IOException {
        return new Server.Reply(200, Codec.MEDIA_TYPE, Codec.write(message));
    }

    // Messages

    private static final Person.Forms<Person, Person.Link, Person.Persons, Person.Links> FORMS = new Person.Forms<>(
            person -> person,
            Person.Link::new,
            persons -> new Person.Persons(persons, persons.size()),
            links -> new Person.Links(links, links.size()));
}
