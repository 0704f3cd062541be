import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Service;
import javax.xml.namespace.QName;
import weighbridge.person.soap.People;
import weighbridge.person.soap.PersonNotFoundFault;

/** Calls a peer of the workload person over SOAP, with JAX-WS. What goes wrong is an exception of the library's. */
final class PersonSoapClient implements PersonClient.Calls<weighbridge.person.soap.Person> {
    private static final QName SERVICE = new QName("urn:weighbridge:person:1", "PeopleService");

    /** A port of the library, which any number of threads may use at once while none changes its request context. */
    private final People people;

    PersonSoapClient(String peer) {
        var interfaceFile = PersonSoapClient.class.getResource("person.wsdl");
        people = Service.create(interfaceFile, SERVICE).getPort(People.class);
        var context = ((BindingProvider) people).getRequestContext();
        context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, "http://" + peer + "/person");
    }

    @Override
    public weighbridge.person.soap.Person message(Person person) {
        return PersonSoap.message(person);
    }

    @Override
    public void listPersons(Digest digest) {
        digest.add(people.listPersons());
    }

    @Override
    public void getPerson(String id, Digest digest) {
        try {
            digest.add(people.getPerson(id));
        } catch (PersonNotFoundFault absent) {
            digest.add("not found");
        }
    }

    @Override
    public void getPersonLinks(String id, Digest digest) {
        digest.add(people.getPersonLinks(id));
    }

    @Override
    public void createPerson(weighbridge.person.soap.Person person, Digest digest) {
        digest.add(people.createPerson(person));
    }
}
