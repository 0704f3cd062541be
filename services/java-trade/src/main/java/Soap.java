import jakarta.xml.ws.Endpoint;
import jakarta.xml.ws.spi.http.HttpContext;
import jakarta.xml.ws.spi.http.HttpExchange;
import jakarta.xml.ws.spi.http.HttpHandler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/** JAX-WS on a route of the server: what it asks of a server, answered from a request, and its reply, with its length. */
final class Soap extends HttpContext {
    static final String MEDIA_TYPE = "text/xml; charset=utf-8";

    /** Kept, since a logger that nobody keeps forgets its level. It would write a trace for each request that is refused. */
    private static final Logger LOG = Logger.getLogger("com.sun.xml.ws");

    /** What JAX-WS itself refuses: it has no form for that in the interface. */
    private static final byte[] REFUSAL = ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><S:Envelope"
        + " xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body><S:Fault><faultcode>S:Client</faultcode><faultstring>the"
        + " envelope cannot be read</faultstring><detail><t:TradeFault"
        + " xmlns:t=\"urn:weighbridge:trade:1\"><code>wrong</code><text>the envelope cannot be read, or its operation"
        + " is not in the interface</text></t:TradeFault></detail></S:Fault></S:Body></S:Envelope>")
            .getBytes(StandardCharsets.UTF_8);

    private final String path;
    private HttpHandler handler;

    /** Publishes the operations of an object. */
    Soap(String path, Object operations) {
        this.path = path;
        LOG.setLevel(Level.OFF);
        Endpoint.create(operations).publish(this);
    }

    /** Answers a request on the thread that calls. */
    Server.Reply answer(Server.Request request) throws IOException {
        Exchange exchange = new Exchange(request.exchange());
        handler.handle(exchange);
        byte[] body = exchange.reply.toByteArray();
        if (exchange.status == 200) {
            return new Server.Reply(200, MEDIA_TYPE, body);
        }
        boolean isTold = new String(body, StandardCharsets.UTF_8).contains("TradeFault");
        return new Server.Reply(500, MEDIA_TYPE, isTold ? body : REFUSAL);
    }

    @Override
    public void setHandler(HttpHandler handler) {
        this.handler = handler;
    }

    @Override
    public String getPath() {
        return path;
    }

    @Override
    public Object getAttribute(String name) {
        return null;
    }

    @Override
    public Set<String> getAttributeNames() {
        return Set.of();
    }

    /** A request of the server as JAX-WS asks for it. */
    private final class Exchange extends HttpExchange {
        private final com.sun.net.httpserver.HttpExchange exchange;
        private final Map<String, List<String>> replyHeaders = new HashMap<>();
        private final ByteArrayOutputStream reply = new ByteArrayOutputStream();
        private int status;

        Exchange(com.sun.net.httpserver.HttpExchange exchange) {
            this.exchange = exchange;
        }

        @Override
        public Map<String, List<String>> getRequestHeaders() {
            return exchange.getRequestHeaders();
        }

        @Override
        public String getRequestHeader(String name) {
            return exchange.getRequestHeaders().getFirst(name);
        }

        @Override
        public InputStream getRequestBody() {
            return exchange.getRequestBody();
        }

        @Override
        public String getRequestMethod() {
            return exchange.getRequestMethod();
        }

        @Override
        public Map<String, List<String>> getResponseHeaders() {
            return replyHeaders;
        }

        @Override
        public void addResponseHeader(String name, String value) {
            // The media type is the contract's, the length is that of the reply.
        }

        @Override
        public OutputStream getResponseBody() {
            return reply;
        }

        @Override
        public void setStatus(int status) {
            this.status = status;
        }

        @Override
        public void close() {
            // The server ends it.
        }

        @Override
        public HttpContext getHttpContext() {
            return Soap.this;
        }

        @Override
        public InetSocketAddress getRemoteAddress() {
            return exchange.getRemoteAddress();
        }

        @Override
        public InetSocketAddress getLocalAddress() {
            return exchange.getLocalAddress();
        }

        @Override
        public String getProtocol() {
            return exchange.getProtocol();
        }

        @Override
        public String getScheme() {
            return "http";
        }

        @Override
        public String getContextPath() {
            return "";
        }

        @Override
        public String getPathInfo() {
            return path;
        }

        @Override
        public String getRequestURI() {
            return exchange.getRequestURI().toString();
        }

        @Override
        public String getQueryString() {
            return exchange.getRequestURI().getRawQuery();
        }

        @Override
        public Object getAttribute(String name) {
            return null;
        }

        @Override
        public Set<String> getAttributeNames() {
            return Set.of();
        }

        @Override
        public Principal getUserPrincipal() {
            return null;
        }

        @Override
        public boolean isUserInRole(String role) {
            return false;
        }
    }
}
