import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TProcessor;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerTransport;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.TTransportFactory;
import org.apache.thrift.transport.layered.TFramedTransport;

/** The server of a workload over Thrift: TThreadPoolServer with frames. It knows no workload. */
final class Thrift implements Main.Listener {
    // After SIGTERM, in ms: until what was sent before it is read, for what is outstanding, and between two looks at
    // that.
    private static final int SHORT_GRACE = 50;
    private static final int GRACE = 4_000;
    private static final int LOOK = 10;

    private final ServerSocket listener = new ServerSocket();
    private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
    private final TThreadPoolServer server;

    /** Opens the listener, for the operations of a workload in one of Thrift's protocols. */
    private Thrift(InetSocketAddress address, TProcessor operations, TProtocolFactory protocol) throws IOException {
        // As many may wait to be accepted as the system lets; Java's default is 50.
        listener.bind(address, Integer.MAX_VALUE);
        server = new TThreadPoolServer(new TThreadPoolServer.Args(new Acceptor())
                .processor((in, out) -> {
                    ((Frames) in.getTransport()).next();
                    operations.process(in, out);
                })
                .protocolFactory(protocol)
                .transportFactory(new FramesFactory()));
    }

    static Thrift binary(InetSocketAddress address, TProcessor operations) throws IOException {
        return new Thrift(address, operations, new TBinaryProtocol.Factory(true, true));
    }

    static Thrift compact(InetSocketAddress address, TProcessor operations) throws IOException {
        return new Thrift(address, operations, new TCompactProtocol.Factory());
    }

    // Life

    @Override
    public void start() {
        new Thread(server::serve).start();
    }

    @Override
    public int port() {
        return listener.getLocalPort();
    }

    /** Answers what was begun with and ends the process with 0. The server by itself would wait for idle clients. */
    @Override
    public void stop() {
        try {
            server.stop();
            Thread.sleep(SHORT_GRACE);
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRACE);
            while (!connections.isEmpty() && System.nanoTime() < end) {
                for (Connection connection : connections) {
                    connection.endIfIdle();
                }
                Thread.sleep(LOOK);
            }
        } catch (InterruptedException nobodyDoes) { // the end, as after the wait
        }
        // A process that ends by SIGTERM would tell 143. The system closes what is still open.
        Runtime.getRuntime().halt(0);
    }

    // Connections

    /** Hands connections to the server. */
    private final class Acceptor extends TServerTransport {
        /** Nothing: the listener is there. */
        @Override
        public void listen() {}

        @Override
        public TTransport accept() throws TTransportException {
            try {
                return new Connection(listener.accept());
            } catch (IOException e) {
                throw new TTransportException(e);
            }
        }

        @Override
        public void close() {
            try {
                listener.close();
            } catch (IOException gone) { // so it is closed
            }
        }

        @Override
        public void interrupt() {
            close();
        }
    }

    /** Thrift's connection, which knows whether a request has begun on it. */
    private final class Connection extends TSocket {
        private final Socket socket;
        private volatile boolean isIdle = true;

        Connection(Socket socket) throws TTransportException {
            super(socket);
            this.socket = socket;
            connections.add(this);
        }

        @Override
        public int read(byte[] buffer, int from, int length) throws TTransportException {
            int count = super.read(buffer, from, length);
            isIdle = false;
            return count;
        }

        @Override
        public void flush() throws TTransportException {
            super.flush();
            isIdle = true;
        }

        void endIfIdle() {
            if (isIdle) {
                try {
                    socket.close();
                } catch (IOException gone) { // so it is closed
                }
            }
        }

        @Override
        public void close() {
            connections.remove(this);
            super.close();
        }
    }

    // Frames

    private static final class FramesFactory extends TTransportFactory {
        @Override
        public TTransport getTransport(TTransport connection) throws TTransportException {
            return new Frames(connection);
        }
    }

    /** Thrift's frames, but that a message ends with its frame: the library would wait for more of it in the next one. */
    private static final class Frames extends TFramedTransport {
        private boolean isBegun;

        Frames(TTransport connection) throws TTransportException {
            super(connection);
        }

        @Override
        public int read(byte[] buffer, int from, int length) throws TTransportException {
            if (isBegun && getBytesRemainingInBuffer() == 0) {
                throw new TTransportException(TTransportException.END_OF_FILE, "the frame ends amid the message");
            }
            isBegun = true;
            return super.read(buffer, from, length);
        }

        /** Takes the next message from the next frame. */
        void next() {
            consumeBuffer(getBytesRemainingInBuffer());
            isBegun = false;
        }
    }
}
