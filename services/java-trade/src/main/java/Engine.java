import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.pool.HikariPool.PoolInitializationException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.Set;

/** The brokerage: its calls over a pool of connections. A call that changes something is one transaction; none is repeated here. */
final class Engine {
    /** By SQL and by the databases: a serialisation failure, a deadlock, a lock that was not to be had in time. */
    private static final Set<String> CONFLICTS = Set.of("40001", "40P01", "55P03", "HYT00", "90131", "40XL1", "40XL2");
    /** A text that no column takes: with a zero byte, or too long. */
    private static final Set<String> UNFIT = Set.of("22021", "22001");

    private final HikariDataSource pool;
    private final Database database;
    private final Calls calls;
    private final Population population;
    private final long created = Calls.now();

    /** Connects, and makes the tables with what is in them at first. */
    Engine(Database database, Population population) throws Fault {
        this.database = database;
        this.population = population;
        calls = new Calls(database);
        HikariConfig config = database.pool();
        // Nothing is due after a thaw.
        config.setMaxLifetime(0);
        config.setKeepaliveTime(0);
        try {
            pool = new HikariDataSource(config);
        } catch (PoolInitializationException e) {
            throw new Fault(Fault.Kind.BROKEN, withCauses(e));
        }
        fill(database.schema());
    }

    /** Makes tables that these statements leave empty what they are at first. */
    private void fill(List<String> emptied) throws Fault {
        transaction(db -> {
            db.run(emptied);
            long holdings = population.users().stream()
                    .mapToLong(user -> user.holdings().size())
                    .sum();
            db.run(database.identities(population.users().size() + 1L, holdings + 1));
            return null;
        });
        transaction(db -> {
            Calls.populate(db, population, created);
            db.run(database.populated());
            return null;
        });
        transaction(db -> {
            db.run(database.primed());
            return null;
        });
    }

    // Calls

    Records.Account login(String user, String password) throws Fault {
        return transaction(db -> calls.login(db, user, password));
    }

    Records.Account logout(String user) throws Fault {
        return change(db -> calls.logout(db, user));
    }

    Records.Account account(String user) throws Fault {
        return read(db -> calls.account(db, user));
    }

    /** By id. */
    Records.HoldingList holdings(String user) throws Fault {
        return read(db -> calls.holdings(db, user));
    }

    Records.Quote quote(String symbol) throws Fault {
        return read(db -> calls.quote(db, symbol));
    }

    /** Without a factor, null, an order leaves the price of its stock as it is. */
    Records.Order buy(String user, String symbol, long quantity, Long factor) throws Fault {
        return transaction(db -> calls.buy(db, user, symbol, quantity, factor));
    }

    Records.Order sell(String user, long holding, Long factor) throws Fault {
        return transaction(db -> calls.sell(db, user, holding, factor));
    }

    Records.Profile update(String user, Records.Fields fields) throws Fault {
        return change(db -> calls.update(db, user, fields));
    }

    Records.Account register(Records.Registration fields) throws Fault {
        return transaction(db -> calls.register(db, fields));
    }

    // Coarse calls: what an action of the script needs, in one transaction

    Records.HomeReply home(String user) throws Fault {
        return transaction(db -> new Records.HomeReply(
                calls.account(db, user), calls.holdings(db, user).holdings()));
    }

    Records.PortfolioReply portfolio(String user) throws Fault {
        return transaction(db -> calls.portfolio(db, user));
    }

    Records.SellFirstReply sellFirst(String user, String symbol, long quantity, Long factor) throws Fault {
        return transaction(db -> calls.sellFirst(db, user, symbol, quantity, factor));
    }

    Records.SwitchUserReply switchUser(String user, Records.Registration fields) throws Fault {
        return transaction(db -> new Records.SwitchUserReply(calls.logout(db, user), calls.register(db, fields)));
    }

    // Control calls

    /** The database is as it was when the service became ready. */
    void reset() throws Fault {
        if (database.isRefilled()) {
            fill(database.restored());
            return;
        }
        transaction(db -> {
            db.run(database.restored());
            return null;
        });
    }

    Records.Contents contents() throws Fault {
        return read(db -> {
            Connection connection = db.connection();
            // All statements see the database at one moment. The pool sets both back.
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            connection.setAutoCommit(false);
            return committed(connection, Calls::contents);
        });
    }

    // Transactions

    private interface Work<R> {
        R with(Sql db) throws SQLException, Fault;
    }

    /** On a connection, where each statement is a transaction of its own. */
    private <R> R read(Work<R> work) throws Fault {
        try (Connection connection = pool.getConnection()) {
            return work.with(new Sql(connection));
        } catch (SQLException e) {
            throw fault(e);
        }
    }

    /** A change and its answer: one statement, or two in a transaction. */
    private <R> R change(Work<R> work) throws Fault {
        return calls.answerAtOnce() ? read(work) : transaction(work);
    }

    private <R> R transaction(Work<R> work) throws Fault {
        return read(db -> {
            db.connection().setAutoCommit(false);
            return committed(db.connection(), work);
        });
    }

    /** It is rolled back where its work fails. */
    private static <R> R committed(Connection connection, Work<R> work) throws SQLException, Fault {
        boolean isDone = false;
        try {
            R reply = work.with(new Sql(connection));
            connection.commit();
            isDone = true;
            return reply;
        } finally {
            if (!isDone) {
                connection.rollback();
            }
        }
    }

    // Faults

    private static Fault fault(SQLException e) {
        String state = e.getSQLState();
        // Without a cause it is the pool that had no connection in time.
        boolean isBusy = e instanceof SQLTransientConnectionException && e.getCause() == null;
        Fault.Kind kind = isBusy || CONFLICTS.contains(state)
                ? Fault.Kind.AGAIN
                : UNFIT.contains(state) ? Fault.Kind.WRONG : Fault.Kind.BROKEN;
        return new Fault(kind, withCauses(e));
    }

    /** Libraries say what failed, and its cause why; on one line. */
    private static String withCauses(Throwable e) {
        StringBuilder text = new StringBuilder(String.valueOf(e.getMessage()));
        for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
            text.append(": ").append(cause.getMessage());
        }
        return text.toString().replaceAll("\\s+", " ");
    }
}
