import jakarta.annotation.Resource;
import jakarta.jws.WebService;
import jakarta.xml.bind.DatatypeConverter;
import jakarta.xml.ws.WebServiceContext;
import jakarta.xml.ws.handler.MessageContext;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import weighbridge.trade.soap.*;

/** The workload trade over SOAP 1.1: the operations of services/trade/trade.wsdl, by JAX-WS. Handlers only. */
@WebService(
        endpointInterface = "weighbridge.trade.soap.Trade",
        serviceName = "TradeService",
        portName = "TradePort",
        targetNamespace = TradeSoap.NAMESPACE)
public final class TradeSoap implements Trade {
    static final String NAMESPACE = "urn:weighbridge:trade:1";
    /** The interface's address, in the place of which is put the service's. */
    private static final String ADDRESS = "127.0.0.1:8080";

    private final Engine engine;

    /** The request that is being answered on this thread. */
    @Resource
    private WebServiceContext context;

    private TradeSoap(Engine engine) {
        this.engine = engine;
    }

    /** The path of the operations and of the interface. */
    static List<Server.Route> routes(Engine engine) throws IOException {
        Soap operations = new Soap("/trade", new TradeSoap(engine));
        String interfaceText;
        try (InputStream in = TradeSoap.class.getResourceAsStream("/trade.wsdl")) {
            interfaceText = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        return List.of(
                new Server.Route("GET", "/trade", request -> wsdl(request, interfaceText)),
                new Server.Route("POST", "/trade", operations::answer));
    }

    /** Answers `GET /trade?wsdl`. */
    private static Server.Reply wsdl(Server.Request request, String text) throws IOException {
        if (!"wsdl".equalsIgnoreCase(request.exchange().getRequestURI().getQuery())) {
            return Server.problem(404, "the interface is at `/trade?wsdl`; operations are asked for by POST");
        }
        String host = request.header("Host");
        byte[] body = text.replace(ADDRESS, host == null ? ADDRESS : host).getBytes(StandardCharsets.UTF_8);
        return new Server.Reply(200, Soap.MEDIA_TYPE, body);
    }

    /** Makes a reply. */
    private interface Call<M> {
        M answer() throws Fault;
    }

    /** Answers an operation that has these arguments, where the action of the request is its own. */
    private <M> M reply(String operation, Call<M> call, Object... arguments) throws TradeFault_Exception {
        try {
            String expected = "\"" + NAMESPACE + "/" + operation + "\"";
            String action = action();
            if (!expected.equals(action)) {
                throw new Fault(Fault.Kind.WRONG, "`SOAPAction` is `" + action + "`, allowed: `" + expected + "`");
            }
            for (Object argument : arguments) {
                if (argument == null) {
                    String problem = "` lacks an element, or one of its numbers is none of 64 bits";
                    throw new Fault(Fault.Kind.WRONG, "`" + operation + problem);
                }
            }
            return call.answer();
        } catch (Fault fault) {
            TradeFault detail = new TradeFault();
            detail.setCode(fault.kind.code());
            detail.setText(fault.getMessage());
            throw new TradeFault_Exception(fault.getMessage(), detail);
        }
    }

    /** Null where the element lacks. */
    private static Long factor(String text) throws Fault {
        try {
            return text == null ? null : DatatypeConverter.parseLong(text);
        } catch (NumberFormatException e) {
            throw new Fault(Fault.Kind.WRONG, "the factor is none of 64 bits: `" + text + "`");
        }
    }

    private String action() {
        var headers = (Map<?, ?>) context.getMessageContext().get(MessageContext.HTTP_REQUEST_HEADERS);
        return headers.get("SOAPAction") instanceof List<?> values ? String.valueOf(values.get(0)) : "";
    }

    // Calls

    @Override
    public Account login(String user, String password) throws TradeFault_Exception {
        return reply("login", () -> message(engine.login(user, password)), user, password);
    }

    @Override
    public Account logout(String user) throws TradeFault_Exception {
        return reply("logout", () -> message(engine.logout(user)), user);
    }

    @Override
    public Account getAccount(String user) throws TradeFault_Exception {
        return reply("getAccount", () -> message(engine.account(user)), user);
    }

    @Override
    public HoldingList listHoldings(String user) throws TradeFault_Exception {
        return reply(
                "listHoldings",
                () -> {
                    HoldingList message = new HoldingList();
                    addAll(message.getHoldings(), engine.holdings(user).holdings());
                    return message;
                },
                user);
    }

    @Override
    public Quote getQuote(String symbol) throws TradeFault_Exception {
        return reply("getQuote", () -> message(engine.quote(symbol)), symbol);
    }

    @Override
    public Order buy(String user, String symbol, Long quantity, String factor) throws TradeFault_Exception {
        Call<Order> call = () -> message(engine.buy(user, symbol, quantity, factor(factor)));
        return reply("buy", call, user, symbol, quantity);
    }

    @Override
    public Order sell(String user, Long holding, String factor) throws TradeFault_Exception {
        return reply("sell", () -> message(engine.sell(user, holding, factor(factor))), user, holding);
    }

    @Override
    public Profile update(String user, String fullName, String address, String email, String card, String password)
            throws TradeFault_Exception {
        var fields = new Records.Fields(fullName, address, email, card, password);
        Call<Profile> call = () -> message(engine.update(user, fields));
        return reply("update", call, user, fullName, address, email, card, password);
    }

    @Override
    public Account register(
            String user, String password, String fullName, String address, String email, String card, Long balance)
            throws TradeFault_Exception {
        Call<Account> call = () -> message(
                engine.register(new Records.Registration(user, password, fullName, address, email, card, balance)));
        return reply("register", call, user, password, fullName, address, email, card, balance);
    }

    // Coarse calls

    @Override
    public HomeReply home(String user) throws TradeFault_Exception {
        return reply(
                "home",
                () -> {
                    Records.HomeReply home = engine.home(user);
                    HomeReply message = new HomeReply();
                    message.setAccount(message(home.account()));
                    addAll(message.getHoldings(), home.holdings());
                    return message;
                },
                user);
    }

    @Override
    public PortfolioReply portfolio(String user) throws TradeFault_Exception {
        return reply(
                "portfolio",
                () -> {
                    Records.PortfolioReply portfolio = engine.portfolio(user);
                    PortfolioReply message = new PortfolioReply();
                    addAll(message.getHoldings(), portfolio.holdings());
                    portfolio.quotes().forEach(quote -> message.getQuotes().add(message(quote)));
                    return message;
                },
                user);
    }

    @Override
    public SellFirstReply sellFirst(String user, String symbol, Long quantity, String factor)
            throws TradeFault_Exception {
        Call<SellFirstReply> call = () -> {
            Records.SellFirstReply sold = engine.sellFirst(user, symbol, quantity, factor(factor));
            SellFirstReply message = new SellFirstReply();
            addAll(message.getHoldings(), sold.holdings());
            message.setOrder(message(sold.order()));
            return message;
        };
        return reply("sellFirst", call, user, symbol, quantity);
    }

    @Override
    public SwitchUserReply switchUser(
            String from,
            String user,
            String password,
            String fullName,
            String address,
            String email,
            String card,
            Long balance)
            throws TradeFault_Exception {
        Call<SwitchUserReply> call = () -> {
            var fields = new Records.Registration(user, password, fullName, address, email, card, balance);
            Records.SwitchUserReply switched = engine.switchUser(from, fields);
            SwitchUserReply message = new SwitchUserReply();
            message.setAccount(message(switched.account()));
            message.setRegistered(message(switched.registered()));
            return message;
        };
        return reply("switchUser", call, from, user, password, fullName, address, email, card, balance);
    }

    // Messages

    private static Account message(Records.Account account) {
        Account message = new Account();
        message.setId(account.id());
        message.setUser(account.user());
        message.setBalance(account.balance());
        message.setOpenBalance(account.openBalance());
        message.setLogins(account.logins());
        message.setLogouts(account.logouts());
        message.setLastLogin(account.lastLogin());
        message.setCreated(account.created());
        return message;
    }

    private static void addAll(List<Holding> messages, List<Records.Holding> holdings) {
        for (Records.Holding holding : holdings) {
            Holding message = new Holding();
            message.setId(holding.id());
            message.setSymbol(holding.symbol());
            message.setQuantity(holding.quantity());
            message.setPrice(holding.price());
            message.setBought(holding.bought());
            messages.add(message);
        }
    }

    private static Quote message(Records.Quote quote) {
        Quote message = new Quote();
        message.setSymbol(quote.symbol());
        message.setCompany(quote.company());
        message.setPrice(quote.price());
        message.setOpen(quote.open());
        message.setLow(quote.low());
        message.setHigh(quote.high());
        message.setChange(quote.change());
        message.setVolume(quote.volume());
        return message;
    }

    private static Order message(Records.Order order) {
        Order message = new Order();
        message.setId(order.id());
        message.setKind(order.kind());
        message.setStatus(order.status());
        message.setSymbol(order.symbol());
        message.setQuantity(order.quantity());
        message.setPrice(order.price());
        message.setFee(order.fee());
        message.setHolding(order.holding());
        message.setOpened(order.opened());
        message.setCompleted(order.completed());
        return message;
    }

    private static Profile message(Records.Profile profile) {
        Profile message = new Profile();
        message.setUser(profile.user());
        message.setFullName(profile.fullName());
        message.setAddress(profile.address());
        message.setEmail(profile.email());
        message.setCard(profile.card());
        return message;
    }
}
