import java.io.IOException;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.layered.TFramedTransport;
import weighbridge.person.v1.People;
import weighbridge.person.v1.PersonNotFound;

/** Calls a peer of the workload person over Thrift, with libthrift. */
final class PersonThriftClient implements PersonClient.Calls<weighbridge.person.v1.Person> {
    private final String host;
    private final int port;
    private final TProtocolFactory protocol;
    /** A client of the library is one connection, and makes one call at a time: these wait for the next. */
    private final Deque<People.Client> idle = new ConcurrentLinkedDeque<>();

    /** One of the calls, with its arguments. */
    private interface Call {
        void make(People.Client client) throws TException;
    }

    private PersonThriftClient(String peer, TProtocolFactory protocol) {
        int colon = peer.lastIndexOf(':');
        host = peer.substring(0, colon);
        port = Integer.parseInt(peer.substring(colon + 1));
        this.protocol = protocol;
    }

    static PersonThriftClient binary(String peer) {
        return new PersonThriftClient(peer, new TBinaryProtocol.Factory());
    }

    static PersonThriftClient compact(String peer) {
        return new PersonThriftClient(peer, new TCompactProtocol.Factory());
    }

    @Override
    public weighbridge.person.v1.Person message(Person person) {
        return PersonThrift.message(person);
    }

    @Override
    public void listPersons(Digest digest) throws IOException {
        call(client -> digest.add(client.listPersons()));
    }

    @Override
    public void getPerson(String id, Digest digest) throws IOException {
        call(client -> {
            try {
                digest.add(client.getPerson(id));
            } catch (PersonNotFound absent) {
                digest.add("not found");
            }
        });
    }

    @Override
    public void getPersonLinks(String id, Digest digest) throws IOException {
        call(client -> digest.add(client.getPersonLinks(id)));
    }

    @Override
    public void createPerson(weighbridge.person.v1.Person person, Digest digest) throws IOException {
        call(client -> digest.add(client.createPerson(person)));
    }

    private void call(Call call) throws IOException {
        People.Client client = idle.poll();
        try {
            if (client == null) {
                client = connect();
            }
            call.make(client);
            idle.push(client);
        } catch (TException e) {
            // The others are of the same peer, which may have gone.
            for (; client != null; client = idle.poll()) {
                client.getInputProtocol().getTransport().close();
            }
            throw new IOException(e);
        }
    }

    private People.Client connect() throws TException {
        var socket = new TSocket(new TConfiguration(), host, port);
        socket.open();
        return new People.Client(protocol.getProtocol(new TFramedTransport(socket)));
    }
}
