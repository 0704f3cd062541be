import org.apache.thrift.TApplicationException;
import weighbridge.person.v1.*;

/** The workload person over Thrift: the operations of services/person/person.thrift. */
final class PersonThrift implements People.Iface {
    private final Person.People<weighbridge.person.v1.Person, PersonLink, PersonList, PersonLinkList> people;
    private final String version;

    private PersonThrift(Person.PeopleFile file, String version) {
        people = new Person.People<>(file, FORMS);
        this.version = version;
    }

    /** The operations of the workload. */
    static People.Processor<People.Iface> operations(Person.PeopleFile file, String version) {
        return new People.Processor<>(new PersonThrift(file, version));
    }

    // Handlers

    @Override
    public PersonList listPersons() {
        return people.listPersons();
    }

    @Override
    public weighbridge.person.v1.Person getPerson(String id) throws PersonNotFound {
        return people.getPerson(id).orElseThrow(() -> new PersonNotFound(id));
    }

    @Override
    public PersonLinkList getPersonLinks(String id) {
        return people.getPersonLinks(id);
    }

    /** Answers the person that was sent, decoded and encoded again. */
    @Override
    public weighbridge.person.v1.Person createPerson(weighbridge.person.v1.Person person) throws TApplicationException {
        if (person == null) {
            throw new TApplicationException(TApplicationException.PROTOCOL_ERROR, "there is no person in the call");
        }
        return person;
    }

    @Override
    public String version() {
        return version;
    }

    // Messages

    private static final Person.Forms<weighbridge.person.v1.Person, PersonLink, PersonList, PersonLinkList> FORMS =
            new Person.Forms<>(
                    PersonThrift::message,
                    PersonLink::new,
                    persons -> new PersonList(persons, persons.size()),
                    links -> new PersonLinkList(links, links.size()));

    static weighbridge.person.v1.Person message(Person person) {
        Person.Name name = person.name();
        Person.Location location = person.location();
        Person.Picture picture = person.picture();
        var message = new weighbridge.person.v1.Person(
                person.id(),
                new PersonName(name.title(), name.first(), name.last()),
                person.gender(),
                new Location(location.street(), location.city(), location.state(), location.postCode()),
                person.email());
        if (picture != null) {
            message.setPicture(new Picture(picture.large(), picture.medium(), picture.thumbnail()));
        }
        return message;
    }
}
