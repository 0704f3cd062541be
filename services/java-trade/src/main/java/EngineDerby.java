import com.zaxxer.hikari.HikariConfig;
import java.util.List;
import java.util.stream.Stream;

/** The brokerage in Derby, in memory. */
final class EngineDerby extends Database {
    @Override
    HikariConfig pool() {
        // By default it writes `derby.log` where the process stands.
        System.setProperty("derby.stream.error.file", "/dev/null");
        // By default 100: whoever asks its catalog for more while another does is told of a lock that was not to be
        // had.
        System.setProperty("derby.language.sequence.preallocator", "1000000");
        System.setProperty("derby.storage.indexStats.auto", "false");
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:derby:memory:trade;create=true");
        return config;
    }

    @Override
    List<String> schema() {
        return tables("VARCHAR(32672)");
    }

    /** By hand what it would do by itself while a script is played. */
    @Override
    List<String> populated() {
        return Stream.of("STOCK", "PROFILE", "ACCOUNT", "HOLDING")
                .map(table -> "CALL SYSCS_UTIL.SYSCS_UPDATE_STATISTICS('APP', '" + table + "', NULL)")
                .toList();
    }

    /** Rows that are gone at once take an identity, so that the next are there when connections compete for them. */
    @Override
    List<String> primed() {
        return List.of(
                "INSERT INTO account (user_id, balance, open_balance, logins, logouts, created)"
                        + " VALUES ('', 0, 0, 0, 0, 0)",
                "DELETE FROM account WHERE user_id = ''",
                "INSERT INTO holding (account, symbol, quantity, price, bought) VALUES (0, '', 0, 0, 0)",
                "DELETE FROM holding WHERE account = 0",
                "INSERT INTO orders (account, kind, status, symbol, quantity, price, fee, holding, opened, completed)"
                        + " VALUES (0, '', '', '', 0, 0, 0, 0, 0, 0)",
                "DELETE FROM orders WHERE account = 0");
    }

    @Override
    List<String> restored() {
        return List.of(
                "TRUNCATE TABLE stock",
                "TRUNCATE TABLE profile",
                "TRUNCATE TABLE account",
                "TRUNCATE TABLE holding",
                "TRUNCATE TABLE orders",
                "ALTER TABLE orders ALTER COLUMN id RESTART WITH 1");
    }

    /** Its `FOR UPDATE` would let readers in, who could then hold up each other's end. */
    @Override
    List<String> locking(String select, String touch) {
        return List.of(touch, select);
    }

    @Override
    String changed(String change, String columns) {
        return null;
    }

    @Override
    String removed(String removal, String columns) {
        return null;
    }
}
