import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.List;
import weighbridge.trade.v1.*;

/** The workload trade over gRPC: the operations of services/trade/trade.proto. Handlers only. */
final class TradeGrpc extends weighbridge.trade.v1.TradeGrpc.TradeImplBase {
    private final Engine engine;
    private final String version;

    TradeGrpc(Engine engine, String version) {
        this.engine = engine;
        this.version = version;
    }

    /** Makes a reply. */
    private interface Call<M> {
        M answer() throws Fault;
    }

    private static <M> void reply(StreamObserver<M> replies, Call<M> call) {
        try {
            replies.onNext(call.answer());
            replies.onCompleted();
        } catch (Fault fault) {
            replies.onError(status(fault).withDescription(fault.getMessage()).asRuntimeException());
        }
    }

    private static Status status(Fault fault) {
        return switch (fault.kind) {
            case WRONG -> Status.INVALID_ARGUMENT;
            case DENIED -> Status.UNAUTHENTICATED;
            case MISSING -> Status.NOT_FOUND;
            case EXISTS -> Status.ALREADY_EXISTS;
            // Not UNAVAILABLE, which libraries say of connections, and repeat by themselves.
            case AGAIN -> Status.ABORTED;
            case BROKEN -> Status.INTERNAL;
        };
    }

    // Calls

    @Override
    public void login(LoginRequest request, StreamObserver<Account> replies) {
        reply(replies, () -> message(engine.login(request.getUser(), request.getPassword())));
    }

    @Override
    public void logout(UserRequest request, StreamObserver<Account> replies) {
        reply(replies, () -> message(engine.logout(request.getUser())));
    }

    @Override
    public void getAccount(UserRequest request, StreamObserver<Account> replies) {
        reply(replies, () -> message(engine.account(request.getUser())));
    }

    @Override
    public void listHoldings(UserRequest request, StreamObserver<HoldingList> replies) {
        reply(replies, () -> HoldingList.newBuilder()
                .addAllHoldings(messages(engine.holdings(request.getUser()).holdings()))
                .build());
    }

    @Override
    public void getQuote(QuoteRequest request, StreamObserver<Quote> replies) {
        reply(replies, () -> message(engine.quote(request.getSymbol())));
    }

    @Override
    public void buy(BuyRequest request, StreamObserver<Order> replies) {
        Long factor = request.hasFactor() ? request.getFactor() : null;
        reply(
                replies,
                () -> message(engine.buy(request.getUser(), request.getSymbol(), request.getQuantity(), factor)));
    }

    @Override
    public void sell(SellRequest request, StreamObserver<Order> replies) {
        Long factor = request.hasFactor() ? request.getFactor() : null;
        reply(replies, () -> message(engine.sell(request.getUser(), request.getHolding(), factor)));
    }

    @Override
    public void update(UpdateRequest request, StreamObserver<Profile> replies) {
        Records.Fields fields = new Records.Fields(
                request.getFullName(),
                request.getAddress(),
                request.getEmail(),
                request.getCard(),
                request.getPassword());
        reply(replies, () -> message(engine.update(request.getUser(), fields)));
    }

    @Override
    public void register(RegisterRequest request, StreamObserver<Account> replies) {
        reply(replies, () -> message(engine.register(registration(request))));
    }

    // Coarse calls

    @Override
    public void home(UserRequest request, StreamObserver<HomeReply> replies) {
        reply(replies, () -> {
            Records.HomeReply home = engine.home(request.getUser());
            return HomeReply.newBuilder()
                    .setAccount(message(home.account()))
                    .addAllHoldings(messages(home.holdings()))
                    .build();
        });
    }

    @Override
    public void portfolio(UserRequest request, StreamObserver<PortfolioReply> replies) {
        reply(replies, () -> {
            Records.PortfolioReply portfolio = engine.portfolio(request.getUser());
            return PortfolioReply.newBuilder()
                    .addAllHoldings(messages(portfolio.holdings()))
                    .addAllQuotes(portfolio.quotes().stream().map(TradeGrpc::message)::iterator)
                    .build();
        });
    }

    @Override
    public void sellFirst(SellFirstRequest request, StreamObserver<SellFirstReply> replies) {
        reply(replies, () -> {
            Long factor = request.hasFactor() ? request.getFactor() : null;
            Records.SellFirstReply sold =
                    engine.sellFirst(request.getUser(), request.getSymbol(), request.getQuantity(), factor);
            return SellFirstReply.newBuilder()
                    .addAllHoldings(messages(sold.holdings()))
                    .setOrder(message(sold.order()))
                    .build();
        });
    }

    @Override
    public void switchUser(SwitchUserRequest request, StreamObserver<SwitchUserReply> replies) {
        reply(replies, () -> {
            if (!request.hasRegister()) {
                throw new Fault(Fault.Kind.WRONG, "`register` is missing");
            }
            Records.SwitchUserReply switched =
                    engine.switchUser(request.getUser(), registration(request.getRegister()));
            return SwitchUserReply.newBuilder()
                    .setAccount(message(switched.account()))
                    .setRegistered(message(switched.registered()))
                    .build();
        });
    }

    // Control calls

    @Override
    public void reset(ResetRequest request, StreamObserver<ResetReply> replies) {
        reply(replies, () -> {
            engine.reset();
            return ResetReply.getDefaultInstance();
        });
    }

    @Override
    public void getState(StateRequest request, StreamObserver<State> replies) {
        reply(replies, () -> {
            Records.State state = Canonical.state(engine.contents());
            return State.newBuilder()
                    .setStocks(state.stocks())
                    .setAccounts(state.accounts())
                    .setProfiles(state.profiles())
                    .setHoldings(state.holdings())
                    .setBuys(state.buys())
                    .setSells(state.sells())
                    .setLogins(state.logins())
                    .setLogouts(state.logouts())
                    .setBalance(state.balance())
                    .setSha256(state.sha256())
                    .build();
        });
    }

    @Override
    public void getDump(StateRequest request, StreamObserver<Dump> replies) {
        reply(replies, () -> Dump.newBuilder()
                .setText(Canonical.dump(engine.contents()))
                .build());
    }

    @Override
    public void version(VersionRequest request, StreamObserver<VersionReply> replies) {
        reply(replies, () -> VersionReply.newBuilder().setText(version).build());
    }

    // Messages

    private static Records.Registration registration(RegisterRequest request) {
        return new Records.Registration(
                request.getUser(),
                request.getPassword(),
                request.getFullName(),
                request.getAddress(),
                request.getEmail(),
                request.getCard(),
                request.getBalance());
    }

    private static Account message(Records.Account account) {
        Account.Builder message = Account.newBuilder()
                .setId(account.id())
                .setUser(account.user())
                .setBalance(account.balance())
                .setOpenBalance(account.openBalance())
                .setLogins(account.logins())
                .setLogouts(account.logouts())
                .setCreated(account.created());
        if (account.lastLogin() != null) {
            message.setLastLogin(account.lastLogin());
        }
        return message.build();
    }

    private static Iterable<Holding> messages(List<Records.Holding> holdings) {
        return holdings.stream().map(TradeGrpc::message)::iterator;
    }

    private static Holding message(Records.Holding holding) {
        return Holding.newBuilder()
                .setId(holding.id())
                .setSymbol(holding.symbol())
                .setQuantity(holding.quantity())
                .setPrice(holding.price())
                .setBought(holding.bought())
                .build();
    }

    private static Quote message(Records.Quote quote) {
        return Quote.newBuilder()
                .setSymbol(quote.symbol())
                .setCompany(quote.company())
                .setPrice(quote.price())
                .setOpen(quote.open())
                .setLow(quote.low())
                .setHigh(quote.high())
                .setChange(quote.change())
                .setVolume(quote.volume())
                .build();
    }

    private static Order message(Records.Order order) {
        return Order.newBuilder()
                .setId(order.id())
                .setKind(order.kind())
                .setStatus(order.status())
                .setSymbol(order.symbol())
                .setQuantity(order.quantity())
                .setPrice(order.price())
                .setFee(order.fee())
                .setHolding(order.holding())
                .setOpened(order.opened())
                .setCompleted(order.completed())
                .build();
    }

    private static Profile message(Records.Profile profile) {
        return Profile.newBuilder()
                .setUser(profile.user())
                .setFullName(profile.fullName())
                .setAddress(profile.address())
                .setEmail(profile.email())
                .setCard(profile.card())
                .build();
    }
}
