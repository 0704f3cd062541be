import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import weighbridge.trade.soap.Trade;
import weighbridge.trade.soap.TradeFault_Exception;
import weighbridge.trade.soap.TradeService;
import weighbridge.trade.v1.*;

/** A client of a transport. All give replies as JSON and faults by HTTP's numbers, so that one test is of them all. */
interface Client extends AutoCloseable {
    List<String> PROTOCOLS = List.of("http1-json", "grpc", "soap");

    /** The reply to a call by its name in the contract; a fault's number where there is none. */
    JsonNode call(String name, JsonNode fields) throws Exception;

    /** As each transport has it: JSON's control calls are SOAP's too. */
    String dump() throws Exception;

    @Override
    default void close() {}

    static Client of(String protocol, Service service) throws Exception {
        return switch (protocol) {
            case "grpc" -> new Grpc(service);
            case "soap" -> new Soap(service);
            default -> new Json(service);
        };
    }

    /** Over HTTP. */
    class Json implements Client {
        private static final HttpClient HTTP =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        private static final Map<String, String> PATHS = Map.of(
                "login", "POST /login",
                "register", "POST /users",
                "account", "GET /users/{u}/account",
                "holdings", "GET /users/{u}/holdings",
                "quote", "GET /quotes/{s}",
                "update", "PUT /users/{u}/profile",
                "switch-user", "POST /users/{u}/register",
                "reset", "POST /control/reset",
                "state", "GET /control/state");
        final Service service;

        Json(Service service) {
            this.service = service;
        }

        HttpResponse<String> send(String method, String path, String body, String... headers)
                throws IOException, InterruptedException {
            var publisher = HttpRequest.BodyPublishers.ofString(body);
            var request =
                    HttpRequest.newBuilder(URI.create(service.base() + path)).method(method, publisher);
            for (int i = 0; i < headers.length; i += 2) {
                request.header(headers[i], headers[i + 1]);
            }
            return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
        }

        @Override
        public JsonNode call(String name, JsonNode fields) throws Exception {
            String[] path = PATHS.getOrDefault(name, "POST /users/{u}/" + name)
                    .replace("{u}", escaped(fields.path("user").asText()))
                    .replace("{s}", escaped(fields.path("symbol").asText()))
                    .split(" ", 2);
            JsonNode body = fields.has("register") ? fields.get("register") : fields;
            // HTTP gives a body of GET no meaning, and a server may end the connection for it.
            String text = path[0].equals("GET") ? "" : body.toString();
            HttpResponse<String> reply = send(path[0], path[1], text);
            JsonNode value = Service.JSON.readTree(reply.body());
            if (reply.statusCode() == 200) {
                return value;
            }
            if (value.path("error").asText().isEmpty()) {
                throw new IllegalStateException("a fault without a text: " + value);
            }
            return Service.JSON.valueToTree(reply.statusCode());
        }

        private static String escaped(String text) {
            return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
        }

        @Override
        public String dump() throws Exception {
            return send("GET", "/control/dump", "").body();
        }
    }

    /** JAX-WS' client, made of the interface that the service answers. */
    final class Soap extends Json {
        private static final ObjectMapper BEANS = JsonMapper.builder()
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .build();
        private final Trade port;

        Soap(Service service) throws IOException {
            super(service);
            port = new TradeService(URI.create(service.base() + "/trade?wsdl").toURL()).getTradePort();
        }

        @Override
        public JsonNode call(String name, JsonNode f) throws Exception {
            try {
                Object reply = name.equals("reset") || name.equals("state") ? super.call(name, f) : answer(name, f);
                return BEANS.valueToTree(reply);
            } catch (TradeFault_Exception fault) {
                String code = fault.getFaultInfo().getCode();
                return BEANS.valueToTree(Fault.Kind.valueOf(code.toUpperCase(java.util.Locale.ROOT)).status);
            }
        }

        private Object answer(String name, JsonNode f) throws TradeFault_Exception {
            JsonNode r = f.has("register") ? f.get("register") : f;
            String user = f.path("user").asText();
            String symbol = f.path("symbol").asText();
            String[] t = List.of("password", "full_name", "address", "email", "card").stream()
                    .map(key -> r.path(key).asText())
                    .toArray(String[]::new);
            long balance = r.path("balance").asLong();
            long quantity = f.path("quantity").asLong();
            String newUser = r.path("user").asText();
            String factor = f.has("factor") ? f.get("factor").asText() : null;
            return switch (name) {
                case "login" -> port.login(user, t[0]);
                case "logout" -> port.logout(user);
                case "account" -> port.getAccount(user);
                case "holdings" -> port.listHoldings(user);
                case "quote" -> port.getQuote(symbol);
                case "buy" -> port.buy(user, symbol, quantity, factor);
                case "sell" -> port.sell(user, f.path("holding").asLong(), factor);
                case "update" -> port.update(user, t[1], t[2], t[3], t[4], t[0]);
                case "register" -> port.register(user, t[0], t[1], t[2], t[3], t[4], balance);
                case "home" -> port.home(user);
                case "portfolio" -> port.portfolio(user);
                case "sell-first" -> port.sellFirst(user, symbol, quantity, factor);
                default -> port.switchUser(user, newUser, t[0], t[1], t[2], t[3], t[4], balance);
            };
        }
    }

    final class Grpc implements Client {
        private final ManagedChannel channel;
        private final weighbridge.trade.v1.TradeGrpc.TradeBlockingStub stub;

        Grpc(Service service) {
            int port = Integer.parseInt(service.ready);
            channel = NettyChannelBuilder.forAddress("127.0.0.1", port)
                    .usePlaintext()
                    .build();
            stub = weighbridge.trade.v1.TradeGrpc.newBlockingStub(channel);
        }

        @Override
        public void close() {
            channel.shutdownNow();
        }

        @Override
        public JsonNode call(String name, JsonNode f) {
            try {
                return json(answer(name, f));
            } catch (StatusRuntimeException e) {
                int number =
                        switch (e.getStatus().getCode()) {
                            case INVALID_ARGUMENT -> 400;
                            case UNAUTHENTICATED -> 401;
                            case NOT_FOUND -> 404;
                            case ALREADY_EXISTS -> 409;
                            case ABORTED -> 503;
                            default -> throw e;
                        };
                return Service.JSON.valueToTree(number);
            }
        }

        private Message answer(String name, JsonNode f) {
            UserRequest user = message(UserRequest.newBuilder(), f);
            return switch (name) {
                case "login" -> stub.login(message(LoginRequest.newBuilder(), f));
                case "logout" -> stub.logout(user);
                case "account" -> stub.getAccount(user);
                case "holdings" -> stub.listHoldings(user);
                case "quote" -> stub.getQuote(message(QuoteRequest.newBuilder(), f));
                case "buy" -> stub.buy(message(BuyRequest.newBuilder(), f));
                case "sell" -> stub.sell(message(SellRequest.newBuilder(), f));
                case "update" -> stub.update(message(UpdateRequest.newBuilder(), f));
                case "register" -> stub.register(message(RegisterRequest.newBuilder(), f));
                case "home" -> stub.home(user);
                case "portfolio" -> stub.portfolio(user);
                case "sell-first" -> stub.sellFirst(message(SellFirstRequest.newBuilder(), f));
                case "switch-user" -> stub.switchUser(message(SwitchUserRequest.newBuilder(), f));
                case "reset" -> stub.reset(ResetRequest.getDefaultInstance());
                default -> stub.getState(StateRequest.getDefaultInstance());
            };
        }

        /** The message with those fields of an object that it has. */
        @SuppressWarnings("unchecked")
        private static <M extends Message> M message(Message.Builder builder, JsonNode fields) {
            for (FieldDescriptor field : builder.getDescriptorForType().getFields()) {
                JsonNode value = fields.get(field.getName());
                if (value != null && value.isObject()) {
                    builder.setField(field, message(builder.newBuilderForField(field), value));
                } else if (value != null) {
                    builder.setField(field, value.isTextual() ? value.asText() : (Object) value.asLong());
                }
            }
            return (M) builder.build();
        }

        private static JsonNode json(Message message) {
            ObjectNode object = Service.JSON.createObjectNode();
            for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
                Object value = field.hasPresence() && !message.hasField(field) ? null : message.getField(field);
                if (value instanceof List<?> list) {
                    ArrayNode array = object.putArray(field.getName());
                    list.forEach(element -> array.add(json((Message) element)));
                } else {
                    object.set(
                            field.getName(),
                            value instanceof Message inner ? json(inner) : Service.JSON.valueToTree(value));
                }
            }
            return object;
        }

        @Override
        public String dump() {
            return stub.getDump(StateRequest.getDefaultInstance()).getText();
        }
    }
}
