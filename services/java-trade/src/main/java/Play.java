import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Sessions of the script, played against the brokerage in this process: their replies' digest, and what is tried again. */
final class Play {
    /** How often a request is made at most, where the answer is *again*. */
    private static final int ATTEMPTS = 5;
    /** The factor of its orders: prices stay as they are. */
    private static final Long FIXED = null;

    /** Makes a request. */
    private interface Request<R> {
        R answer() throws Fault;
    }

    /** Makes the requests of an action. */
    private interface Requests {
        void make() throws Fault;
    }

    private final Engine engine;
    private final Tally.Grain grain;
    private final Tally tally = new Tally();
    /** The sum of the sessions' hashes. */
    private long digest;

    // Of the session at work

    /** Whose actions these are; another one's behind `register`. */
    private String user;

    private Canonical.Session replies;

    // Of the action at work: how many requests it had, from when to when, and attempts behind the first of each

    private long requests;
    private long since;
    private long until;
    private long retried;

    Play(Engine engine, Tally.Grain grain) {
        this.engine = engine;
        this.grain = grain;
    }

    static long digest(List<Play> plays) {
        return plays.stream().mapToLong(play -> play.digest).sum();
    }

    Tally tally() {
        return tally;
    }

    // Sessions

    /** Plays a session from login to logout. */
    void play(Script.Session session) {
        user = session.user();
        replies = new Canonical.Session();
        act(() ->
                hash(new Canonical().add(asked(Tally.Operation.LOGIN, () -> engine.login(user, session.password())))));
        for (Script.Step step : session.steps()) {
            play(step);
        }
        act(this::logout);
        digest += replies.hash();
    }

    private void play(Script.Step step) {
        if (step instanceof Script.Quote quote) {
            act(() -> hash(new Canonical().add(asked(Tally.Operation.QUOTE, () -> engine.quote(quote.symbol())))));
        } else if (step instanceof Script.Buy buy) {
            Population.Lot lot = buy.lot();
            act(() -> hash(new Canonical()
                    .add(asked(Tally.Operation.BUY, () -> engine.buy(user, lot.symbol(), lot.quantity(), FIXED)))));
        } else if (step instanceof Script.Update update) {
            act(() -> hash(
                    new Canonical().add(asked(Tally.Operation.UPDATE, () -> engine.update(user, update.fields())))));
        } else if (grain == Tally.Grain.FINE) {
            fine(step);
        } else {
            act(() -> coarse(step));
        }
    }

    /** An action of several requests. */
    private void fine(Script.Step step) {
        if (step instanceof Script.Home) {
            whole(Tally.Operation.HOME, () -> {
                hash(new Canonical().add(asked(Tally.Operation.ACCOUNT, () -> engine.account(user))));
                holdings();
            });
        } else if (step instanceof Script.Portfolio) {
            whole(Tally.Operation.PORTFOLIO, this::portfolio);
        } else if (step instanceof Script.Sell sell) {
            whole(Tally.Operation.SELL_FIRST, () -> sell(sell.lot()));
        } else if (step instanceof Script.Register register) {
            whole(Tally.Operation.SWITCH_USER, () -> {
                logout();
                hash(new Canonical().add(asked(Tally.Operation.REGISTER, () -> engine.register(register.fields()))));
                user = register.fields().user();
            });
        }
    }

    /** The same in one request. */
    private void coarse(Script.Step step) throws Fault {
        if (step instanceof Script.Home) {
            Records.HomeReply reply = asked(Tally.Operation.HOME, () -> engine.home(user));
            hash(new Canonical().add(reply.account()).add(reply.holdings()));
        } else if (step instanceof Script.Portfolio) {
            Records.PortfolioReply reply = asked(Tally.Operation.PORTFOLIO, () -> engine.portfolio(user));
            Canonical text = new Canonical().add(reply.holdings());
            bySymbol(reply.quotes()).forEach(text::add);
            hash(text);
        } else if (step instanceof Script.Sell sell) {
            Population.Lot lot = sell.lot();
            Records.SellFirstReply reply = asked(
                    Tally.Operation.SELL_FIRST, () -> engine.sellFirst(user, lot.symbol(), lot.quantity(), FIXED));
            hash(new Canonical().add(reply.holdings()).add(reply.order()));
        } else if (step instanceof Script.Register register) {
            Records.SwitchUserReply reply =
                    asked(Tally.Operation.SWITCH_USER, () -> engine.switchUser(user, register.fields()));
            hash(new Canonical().add(reply.account()).add(reply.registered()));
            user = register.fields().user();
        }
    }

    private void logout() throws Fault {
        hash(new Canonical().add(asked(Tally.Operation.LOGOUT, () -> engine.logout(user))));
    }

    private Records.HoldingList holdings() throws Fault {
        Records.HoldingList list = asked(Tally.Operation.HOLDINGS, () -> engine.holdings(user));
        hash(new Canonical().add(list.holdings()));
        return list;
    }

    /** Quotes are asked in the order of the holdings' ids, which are the engine's, and hashed in that of their symbols. */
    private void portfolio() throws Fault {
        List<Records.Quote> quotes = new ArrayList<>();
        for (Records.Holding holding : holdings().holdings()) {
            quotes.add(asked(Tally.Operation.QUOTE, () -> engine.quote(holding.symbol())));
        }
        bySymbol(quotes).forEach(quote -> hash(new Canonical().add(quote)));
    }

    private static List<Records.Quote> bySymbol(List<Records.Quote> quotes) {
        return quotes.stream()
                .sorted(Comparator.comparing(Records.Quote::symbol, Canonical.BY_BYTES))
                .toList();
    }

    /** A sale of what is not held fails without a request. */
    private void sell(Population.Lot lot) throws Fault {
        Long holding = holdings().firstOf(lot.symbol(), lot.quantity()).orElse(null);
        if (holding == null) {
            Fault fault = Fault.noHolding(user, lot.symbol(), lot.quantity());
            tally.tell(Tally.Operation.SELL, user, fault);
            tally.failed(Tally.Operation.SELL, 0);
            throw fault;
        }
        hash(new Canonical().add(asked(Tally.Operation.SELL, () -> engine.sell(user, holding, FIXED))));
    }

    private void hash(Canonical reply) {
        replies.add(reply.hash());
    }

    // Requests

    /** Makes requests, and counts them as an action too. */
    private void whole(Tally.Operation action, Requests all) {
        if (act(all)) {
            tally.good(action, until - since, retried);
        } else {
            tally.failed(action, retried);
        }
    }

    /** Whether all requests were good; those that were not have been counted and told. */
    private boolean act(Requests all) {
        requests = 0;
        retried = 0;
        try {
            all.make();
            return true;
        } catch (Fault fault) {
            return false;
        }
    }

    /** A reply, asked for again at once where that is the answer. */
    private <R> R asked(Tally.Operation operation, Request<R> request) throws Fault {
        long begun = System.nanoTime();
        if (requests++ == 0) {
            since = begun;
        }
        for (int attempt = 1; ; attempt++) {
            try {
                R reply = request.answer();
                until = System.nanoTime();
                tally.good(operation, until - begun, attempt - 1);
                return reply;
            } catch (Fault fault) {
                if (fault.kind == Fault.Kind.AGAIN && attempt < ATTEMPTS) {
                    retried++;
                    continue;
                }
                tally.failed(operation, attempt - 1);
                tally.tell(operation, user, fault);
                throw fault;
            }
        }
    }
}
