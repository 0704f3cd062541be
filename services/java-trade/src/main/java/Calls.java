import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the calls do, on a connection or within a transaction of it. A transaction locks its account first, then its stock. */
final class Calls {
    /** The most shares of an order: its price is then a whole number of cents in 64 bits. */
    private static final long LARGEST_QUANTITY = 1_000_000_000;
    /** The factors by which an order may move a price, in hundredths. */
    private static final long LEAST_FACTOR = 90;

    private static final long LARGEST_FACTOR = 110;
    /** How SQL says that a row with this key is there. */
    private static final String IS_THERE = "23505";

    /** A change of one row that answers it: in one statement, or in two where the database's language has none for that. */
    private record Change<R>(String plain, String answering, String select, Sql.Row<R> row) {
        /** The last value is the key of what is changed. */
        Optional<R> make(Sql db, Object... values) throws SQLException {
            if (answering != null) {
                return db.first(answering, row, values);
            }
            int changed = db.change(plain, values);
            return changed == 0 ? Optional.empty() : db.first(select, row, values[values.length - 1]);
        }
    }

    private final List<String> accountLock;
    private final List<String> stockLock;
    private final Change<Records.Account> login;
    private final Change<Records.Account> logout;
    private final Change<Records.Profile> update;
    /** Null where it takes two statements. */
    private final String release;

    Calls(Database database) {
        accountLock = database.locking(Sql.ACCOUNT_ID, Sql.TOUCH_ACCOUNT);
        stockLock = database.locking(Sql.QUOTE, Sql.TOUCH_STOCK);
        login = ofAccount(database, Sql.LOGIN);
        logout = ofAccount(database, Sql.LOGOUT);
        String answering = database.changed(Sql.UPDATE, Sql.PROFILE_COLUMNS);
        update = new Change<>(Sql.UPDATE, answering, Sql.PROFILE, Sql::profile);
        release = database.removed(Sql.RELEASE, "symbol, quantity");
    }

    private static Change<Records.Account> ofAccount(Database database, String change) {
        return new Change<>(change, database.changed(change, Sql.ACCOUNT_COLUMNS), Sql.ACCOUNT, Sql::account);
    }

    /** Whether a change answers in the same statement. */
    boolean answerAtOnce() {
        return login.answering != null;
    }

    // Calls

    Records.Account login(Sql db, String user, String password) throws SQLException, Fault {
        Optional<String> right = db.first(Sql.PASSWORD, row -> row.getString(1), user);
        if (!right.orElseThrow(() -> Fault.noUser(user)).equals(password)) {
            throw Fault.wrongPassword(user);
        }
        return login.make(db, now(), user).orElseThrow(() -> Fault.noUser(user));
    }

    Records.Account logout(Sql db, String user) throws SQLException, Fault {
        return logout.make(db, user).orElseThrow(() -> Fault.noUser(user));
    }

    Records.Account account(Sql db, String user) throws SQLException, Fault {
        return db.first(Sql.ACCOUNT, Sql::account, user).orElseThrow(() -> Fault.noUser(user));
    }

    Records.HoldingList holdings(Sql db, String user) throws SQLException, Fault {
        List<Records.Holding> holdings = db.all(Sql.HOLDINGS, Sql::maybeHolding, user);
        if (holdings.isEmpty()) {
            throw Fault.noUser(user);
        }
        return new Records.HoldingList(holdings.get(0) == null ? List.of() : holdings);
    }

    Records.Quote quote(Sql db, String symbol) throws SQLException, Fault {
        return db.first(Sql.QUOTE, Sql::quote, symbol).orElseThrow(() -> Fault.noStock(symbol));
    }

    Records.Order buy(Sql db, String user, String symbol, long quantity, Long factor) throws SQLException, Fault {
        check("quantity", quantity, 0, LARGEST_QUANTITY);
        check(factor);
        long account = lockedAccount(db, user);
        long price = price(db, symbol, quantity, factor);
        db.change(Sql.PAY, -(quantity * price + Records.FEE), account);
        long holding = db.insert(Sql.HOLD, account, symbol, quantity, price, now());
        return closed(db, account, "buy", new Records.Holding(holding, symbol, quantity, price, 0));
    }

    Records.Order sell(Sql db, String user, long holding, Long factor) throws SQLException, Fault {
        check(factor);
        long account = lockedAccount(db, user);
        Population.Lot lot = released(db, account, holding).orElseThrow(() -> Fault.noHolding(user, holding));
        long price = price(db, lot.symbol(), lot.quantity(), factor);
        db.change(Sql.PAY, lot.quantity() * price - Records.FEE, account);
        return closed(db, account, "sell", new Records.Holding(holding, lot.symbol(), lot.quantity(), price, 0));
    }

    Records.Profile update(Sql db, String user, Records.Fields fields) throws SQLException, Fault {
        return update.make(
                        db, fields.fullName(), fields.address(), fields.email(), fields.card(), fields.password(), user)
                .orElseThrow(() -> Fault.noUser(user));
    }

    /** The new user is logged in. */
    Records.Account register(Sql db, Records.Registration fields) throws SQLException, Fault {
        try {
            db.change(
                    Sql.NEW_PROFILE,
                    fields.user(),
                    fields.fullName(),
                    fields.address(),
                    fields.email(),
                    fields.card(),
                    fields.password());
        } catch (SQLException e) {
            if (IS_THERE.equals(e.getSQLState())) {
                throw Fault.userExists(fields.user());
            }
            throw e;
        }
        long now = now();
        long balance = fields.balance();
        long id = db.insert(Sql.NEW_ACCOUNT, fields.user(), balance, balance, 1L, 0L, now, now);
        return new Records.Account(id, fields.user(), balance, balance, 1, 0, now, now);
    }

    // Coarse calls

    Records.PortfolioReply portfolio(Sql db, String user) throws SQLException, Fault {
        List<Records.Holding> holdings = holdings(db, user).holdings();
        List<Records.Quote> quotes = new ArrayList<>(holdings.size());
        for (Records.Holding holding : holdings) {
            quotes.add(quote(db, holding.symbol()));
        }
        return new Records.PortfolioReply(holdings, quotes);
    }

    Records.SellFirstReply sellFirst(Sql db, String user, String symbol, long quantity, Long factor)
            throws SQLException, Fault {
        check(factor);
        Records.HoldingList list = holdings(db, user);
        long holding = list.firstOf(symbol, quantity).orElseThrow(() -> Fault.noHolding(user, symbol, quantity));
        return new Records.SellFirstReply(list.holdings(), sell(db, user, holding, factor));
    }

    // Steps of a transaction

    private static void check(String what, long number, long least, long largest) throws Fault {
        if (number < least || number > largest) {
            String problem = "the " + what + " is " + number + ", allowed: " + least + " to " + largest;
            throw new Fault(Fault.Kind.WRONG, problem);
        }
    }

    private static void check(Long factor) throws Fault {
        if (factor != null) {
            check("factor", factor, LEAST_FACTOR, LARGEST_FACTOR);
        }
    }

    private long lockedAccount(Sql db, String user) throws SQLException, Fault {
        return locked(db, accountLock, row -> row.getLong(1), user).orElseThrow(() -> Fault.noUser(user));
    }

    private static <R> Optional<R> locked(Sql db, List<String> lock, Sql.Row<R> row, String key) throws SQLException {
        int last = lock.size() - 1;
        for (String change : lock.subList(0, last)) {
            db.change(change, key);
        }
        return db.first(lock.get(last), row, key);
    }

    /** The price of an order, which moves that of its stock where it has a factor. */
    private long price(Sql db, String symbol, long quantity, Long factor) throws SQLException, Fault {
        if (factor == null) {
            return quote(db, symbol).price();
        }
        // Two orders that read the same price would lose one's change: the second waits for the first one's end.
        Records.Quote found = locked(db, stockLock, Sql::quote, symbol).orElseThrow(() -> Fault.noStock(symbol));
        Records.Quote moved = found.moved(quantity, factor);
        db.change(Sql.MOVE, moved.price(), moved.low(), moved.high(), moved.change(), moved.volume(), symbol);
        return found.price();
    }

    private Optional<Population.Lot> released(Sql db, long account, long holding) throws SQLException {
        if (release != null) {
            return db.first(release, Calls::lot, holding, account);
        }
        Optional<Population.Lot> lot = db.first(Sql.LOT, Calls::lot, holding, account);
        return lot.isPresent() && db.change(Sql.RELEASE, holding, account) > 0 ? lot : Optional.empty();
    }

    private static Population.Lot lot(java.sql.ResultSet row) throws SQLException {
        return new Population.Lot(row.getString(1), row.getLong(2));
    }

    private static Records.Order closed(Sql db, long account, String kind, Records.Holding traded) throws SQLException {
        long now = now();
        String symbol = traded.symbol();
        long quantity = traded.quantity();
        long price = traded.price();
        long id = db.insert(
                Sql.ORDER, account, kind, "closed", symbol, quantity, price, Records.FEE, traded.id(), now, now);
        return new Records.Order(id, kind, "closed", symbol, quantity, price, Records.FEE, traded.id(), now, now);
    }

    static long now() {
        return System.currentTimeMillis();
    }

    // Contents

    /** Fills empty tables; accounts and holdings are numbered from 1. */
    static void populate(Sql db, Population population, long created) throws SQLException {
        List<Object[]> stocks = new ArrayList<>();
        for (Records.Quote quote : population.stocks()) {
            stocks.add(new Object[] {
                quote.symbol(),
                quote.company(),
                quote.price(),
                quote.open(),
                quote.low(),
                quote.high(),
                quote.change(),
                quote.volume()
            });
        }
        Map<String, Long> prices = population.prices();
        List<Object[]> profiles = new ArrayList<>();
        List<Object[]> accounts = new ArrayList<>();
        List<Object[]> holdings = new ArrayList<>();
        for (Population.User user : population.users()) {
            Records.Registration of = user.fields();
            long account = accounts.size() + 1L;
            profiles.add(new Object[] {of.user(), of.fullName(), of.address(), of.email(), of.card(), of.password()});
            accounts.add(new Object[] {account, of.user(), of.balance(), of.balance(), created});
            for (Population.Lot lot : user.holdings()) {
                holdings.add(new Object[] {
                    holdings.size() + 1L, account, lot.symbol(), lot.quantity(), prices.get(lot.symbol()), created
                });
            }
        }
        db.insertAll(Sql.NEW_STOCK, stocks);
        db.insertAll(Sql.NEW_PROFILE, profiles);
        db.insertAll(Sql.FIRST_ACCOUNT, accounts);
        db.insertAll(Sql.FIRST_HOLDING, holdings);
    }

    static Records.Contents contents(Sql db) throws SQLException {
        return new Records.Contents(
                db.all(Sql.QUOTES, Sql::quote),
                db.all(Sql.PROFILES, Sql::secret),
                db.all(Sql.ACCOUNTS, Sql::account),
                db.all(Sql.ALL_HOLDINGS, Sql::ownedHolding),
                db.all(Sql.ORDERS, Sql::ownedOrder));
    }
}
