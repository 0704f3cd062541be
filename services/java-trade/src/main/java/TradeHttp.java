import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** The workload trade over HTTP, in JSON: handlers only. */
final class TradeHttp {
    private final Engine engine;

    private TradeHttp(Engine engine) {
        this.engine = engine;
    }

    /** The paths of the workload. */
    static List<Server.Route> routes(Engine engine) {
        TradeHttp trade = new TradeHttp(engine);
        return List.of(
                new Server.Route("POST", "/login", trade::login),
                new Server.Route("POST", "/users", trade::register),
                new Server.Route("POST", "/users/{u}/logout", trade::logout),
                new Server.Route("GET", "/users/{u}/account", trade::account),
                new Server.Route("GET", "/users/{u}/holdings", trade::holdings),
                new Server.Route("POST", "/users/{u}/buy", trade::buy),
                new Server.Route("POST", "/users/{u}/sell", trade::sell),
                new Server.Route("PUT", "/users/{u}/profile", trade::update),
                new Server.Route("GET", "/quotes/{s}", trade::quote),
                new Server.Route("POST", "/users/{u}/home", trade::home),
                new Server.Route("POST", "/users/{u}/portfolio", trade::portfolio),
                new Server.Route("POST", "/users/{u}/sell-first", trade::sellFirst),
                new Server.Route("POST", "/users/{u}/register", trade::switchUser));
    }

    /** The paths of the control calls, which SOAP has too. */
    static List<Server.Route> control(Engine engine) {
        TradeHttp trade = new TradeHttp(engine);
        return List.of(
                new Server.Route("POST", "/control/reset", trade::reset),
                new Server.Route("GET", "/control/state", trade::state),
                new Server.Route("GET", "/control/dump", trade::dump));
    }

    // Requests; unknown keys are passed over, and the user is the path's

    private record Login(String user, String password) {}

    /** What an order may have. It is no record, since of those nothing may lack. */
    private abstract static class Order {
        /** Null where the price of its stock stays as it is. */
        @JsonProperty
        Long factor;
    }

    private static final class Lot extends Order {
        private final String symbol;
        private final long quantity;

        @JsonCreator
        Lot(@JsonProperty("symbol") String symbol, @JsonProperty("quantity") long quantity) {
            this.symbol = symbol;
            this.quantity = quantity;
        }
    }

    private static final class Sale extends Order {
        private final long holding;

        @JsonCreator
        Sale(@JsonProperty("holding") long holding) {
            this.holding = holding;
        }
    }

    /** The decoded user or symbol of a path; empty where nothing is behind its last slash. */
    private static String name(Server.Request request) {
        return request.parameters().get(0);
    }

    private static <R> R sent(Server.Request request, Class<R> type) throws IOException, Fault {
        return Codec.read(request.body(), type);
    }

    private static Server.Reply reply(Object record) throws IOException {
        return new Server.Reply(200, Codec.MEDIA_TYPE, Codec.write(record));
    }

    // Calls

    private Server.Reply login(Server.Request request) throws IOException, Fault {
        Login login = sent(request, Login.class);
        return reply(engine.login(login.user, login.password));
    }

    private Server.Reply logout(Server.Request request) throws IOException, Fault {
        return reply(engine.logout(name(request)));
    }

    private Server.Reply account(Server.Request request) throws IOException, Fault {
        return reply(engine.account(name(request)));
    }

    private Server.Reply holdings(Server.Request request) throws IOException, Fault {
        return reply(engine.holdings(name(request)));
    }

    private Server.Reply quote(Server.Request request) throws IOException, Fault {
        return reply(engine.quote(name(request)));
    }

    private Server.Reply buy(Server.Request request) throws IOException, Fault {
        Lot lot = sent(request, Lot.class);
        return reply(engine.buy(name(request), lot.symbol, lot.quantity, lot.factor));
    }

    private Server.Reply sell(Server.Request request) throws IOException, Fault {
        Sale sale = sent(request, Sale.class);
        return reply(engine.sell(name(request), sale.holding, sale.factor));
    }

    private Server.Reply update(Server.Request request) throws IOException, Fault {
        return reply(engine.update(name(request), sent(request, Records.Fields.class)));
    }

    private Server.Reply register(Server.Request request) throws IOException, Fault {
        return reply(engine.register(sent(request, Records.Registration.class)));
    }

    // Coarse calls

    private Server.Reply home(Server.Request request) throws IOException, Fault {
        return reply(engine.home(name(request)));
    }

    private Server.Reply portfolio(Server.Request request) throws IOException, Fault {
        return reply(engine.portfolio(name(request)));
    }

    private Server.Reply sellFirst(Server.Request request) throws IOException, Fault {
        Lot lot = sent(request, Lot.class);
        return reply(engine.sellFirst(name(request), lot.symbol, lot.quantity, lot.factor));
    }

    private Server.Reply switchUser(Server.Request request) throws IOException, Fault {
        return reply(engine.switchUser(name(request), sent(request, Records.Registration.class)));
    }

    // Control calls

    private Server.Reply reset(Server.Request request) throws IOException, Fault {
        engine.reset();
        return reply(Map.of());
    }

    private Server.Reply state(Server.Request request) throws IOException, Fault {
        return reply(Canonical.state(engine.contents()));
    }

    private Server.Reply dump(Server.Request request) throws Fault {
        byte[] dump = Canonical.dump(engine.contents()).getBytes(StandardCharsets.UTF_8);
        return new Server.Reply(200, "text/plain", dump);
    }
}
