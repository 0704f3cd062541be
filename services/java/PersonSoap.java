import com.sun.net.httpserver.HttpContext;
import jakarta.jws.WebService;
import jakarta.xml.ws.Endpoint;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import weighbridge.person.soap.*;

/** The workload person over SOAP: the operations of services/person/person.wsdl, by JAX-WS. */
@WebService(
        endpointInterface = "weighbridge.person.soap.People",
        serviceName = "PeopleService",
        portName = "PeoplePort",
        targetNamespace = "urn:weighbridge:person:1")
public final class PersonSoap implements People {
    /** Kept, since a logger that nobody keeps forgets its level. */
    private static final Logger LOG = Logger.getLogger("com.sun.xml.ws");

    private final Person.People<weighbridge.person.soap.Person, PersonLink, PersonList, PersonLinkList> people;

    private PersonSoap(Person.PeopleFile file) {
        people = new Person.People<>(file, FORMS);
    }

    /** Answers the operations of the workload in a context of the server, on the threads of that. */
    static void publish(Person.PeopleFile file, HttpContext context) {
        LOG.setLevel(Level.OFF);
        Endpoint.create(new PersonSoap(file)).publish(context);
    }

    // Handlers

    @Override
    public PersonList listPersons() {
        return people.listPersons();
    }

    @Override
    public weighbridge.person.soap.Person getPerson(String id) throws PersonNotFoundFault {
        return people.getPerson(id).orElseThrow(() -> notFound(id));
    }

    @Override
    public PersonLinkList getPersonLinks(String id) {
        return people.getPersonLinks(id);
    }

    /** Answers the person that was sent, decoded and encoded again. */
    @Override
    public weighbridge.person.soap.Person createPerson(weighbridge.person.soap.Person person) {
        if (person == null) {
            throw new IllegalArgumentException("there is no person in the call");
        }
        return person;
    }

    private static PersonNotFoundFault notFound(String id) {
        PersonNotFound detail = new PersonNotFound();
        detail.setId(id);
        return new PersonNotFoundFault("no person has this id", detail);
    }

    // Messages

    private static final Person.Forms<weighbridge.person.soap.Person, PersonLink, PersonList, PersonLinkList> FORMS =
            new Person.Forms<>(PersonSoap::message, PersonSoap::link, PersonSoap::list, PersonSoap::linkList);

    static weighbridge.person.soap.Person message(Person person) {
        var message = new weighbridge.person.soap.Person();
        message.setId(person.id());
        message.setName(name(person.name()));
        message.setGender(person.gender());
        message.setLocation(location(person.location()));
        message.setEmail(person.email());
        message.setPicture(person.picture() == null ? null : picture(person.picture()));
        return message;
    }

    private static PersonName name(Person.Name name) {
        PersonName message = new PersonName();
        message.setTitle(name.title());
        message.setFirst(name.first());
        message.setLast(name.last());
        return message;
    }

    private static Location location(Person.Location location) {
        Location message = new Location();
        message.setStreet(location.street());
        message.setCity(location.city());
        message.setState(location.state());
        message.setPostCode(location.postCode());
        return message;
    }

    private static Picture picture(Person.Picture picture) {
        Picture message = new Picture();
        message.setLarge(picture.large());
        message.setMedium(picture.medium());
        message.setThumbnail(picture.thumbnail());
        return message;
    }

    private static PersonLink link(weighbridge.person.soap.Person p1, weighbridge.person.soap.Person p2) {
        PersonLink message = new PersonLink();
        message.setP1(p1);
        message.setP2(p2);
        return message;
    }

    private static PersonList list(List<weighbridge.person.soap.Person> persons) {
        PersonList message = new PersonList();
        message.getPersons().addAll(persons);
        message.setCount(persons.size());
        return message;
    }

    private static PersonLinkList linkList(List<PersonLink> links) {
        PersonLinkList message = new PersonLinkList();
        message.getLinks().addAll(links);
        message.setCount(links.size());
        return message;
    }
}
