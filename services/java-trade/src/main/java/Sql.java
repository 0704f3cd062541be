import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A connection with the statements that all databases understand, and the records of their rows. */
record Sql(Connection connection) {
    static final String ACCOUNT_COLUMNS = "id, user_id, balance, open_balance, logins, logouts, last_login, created";
    static final String HOLDING_COLUMNS = "h.id, h.symbol, h.quantity, h.price, h.bought";
    static final String PROFILE_COLUMNS = "user_id, full_name, address, email, card";
    private static final String QUOTE_COLUMNS =
            "symbol, company, price, open_price, low_price, high_price, price_change, volume";

    // Calls; the last value of those that change an account or a profile is its user

    static final String PASSWORD = "SELECT password FROM profile WHERE user_id = ?";
    static final String LOGIN = "UPDATE account SET logins = logins + 1, last_login = ? WHERE user_id = ?";
    static final String LOGOUT = "UPDATE account SET logouts = logouts + 1 WHERE user_id = ?";
    static final String ACCOUNT = "SELECT " + ACCOUNT_COLUMNS + " FROM account WHERE user_id = ?";
    static final String ACCOUNT_ID = "SELECT id FROM account WHERE user_id = ?";
    /** Changes nothing. */
    static final String TOUCH_ACCOUNT = "UPDATE account SET balance = balance WHERE user_id = ?";
    /** No row where there is no user, one without a holding where it has none. */
    static final String HOLDINGS = "SELECT " + HOLDING_COLUMNS
            + " FROM account a LEFT JOIN holding h ON h.account = a.id WHERE a.user_id = ? ORDER BY h.id";

    static final String QUOTE = "SELECT " + QUOTE_COLUMNS + " FROM stock WHERE symbol = ?";
    /** Changes nothing. */
    static final String TOUCH_STOCK = "UPDATE stock SET volume = volume WHERE symbol = ?";

    static final String MOVE = "UPDATE stock"
            + " SET price = ?, low_price = ?, high_price = ?, price_change = ?, volume = ? WHERE symbol = ?";
    static final String PAY = "UPDATE account SET balance = balance + ? WHERE id = ?";
    static final String HOLD = "INSERT INTO holding (account, symbol, quantity, price, bought) VALUES (?, ?, ?, ?, ?)";
    static final String LOT = "SELECT symbol, quantity FROM holding WHERE id = ? AND account = ?";
    static final String RELEASE = "DELETE FROM holding WHERE id = ? AND account = ?";
    static final String ORDER = "INSERT INTO orders"
            + " (account, kind, status, symbol, quantity, price, fee, holding, opened, completed)"
            + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    static final String PROFILE = "SELECT " + PROFILE_COLUMNS + " FROM profile WHERE user_id = ?";
    static final String UPDATE =
            "UPDATE profile SET full_name = ?, address = ?, email = ?, card = ?, password = ?" + " WHERE user_id = ?";
    static final String NEW_PROFILE =
            "INSERT INTO profile (user_id, full_name, address, email, card, password)" + " VALUES (?, ?, ?, ?, ?, ?)";
    static final String NEW_ACCOUNT = "INSERT INTO account"
            + " (user_id, balance, open_balance, logins, logouts, last_login, created) VALUES (?, ?, ?, ?, ?, ?, ?)";

    // Contents

    static final String QUOTES = "SELECT " + QUOTE_COLUMNS + " FROM stock";
    static final String PROFILES = "SELECT " + PROFILE_COLUMNS + ", password FROM profile";
    static final String ACCOUNTS = "SELECT " + ACCOUNT_COLUMNS + " FROM account";
    static final String ALL_HOLDINGS =
            "SELECT " + HOLDING_COLUMNS + ", a.user_id FROM holding h JOIN account a ON a.id = h.account";
    static final String ORDERS = "SELECT o.id, o.kind, o.status, o.symbol, o.quantity, o.price, o.fee, o.holding,"
            + " o.opened, o.completed, a.user_id FROM orders o JOIN account a ON a.id = o.account";

    // Population

    static final String NEW_STOCK = "INSERT INTO stock (" + QUOTE_COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    static final String FIRST_ACCOUNT = "INSERT INTO account"
            + " (id, user_id, balance, open_balance, logins, logouts, created) VALUES (?, ?, ?, ?, 0, 0, ?)";
    static final String FIRST_HOLDING =
            "INSERT INTO holding (id, account, symbol, quantity, price, bought) VALUES (?, ?, ?, ?, ?, ?)";

    // Statements

    /** Reads a record from the row at which a result stands. */
    interface Row<R> {
        R read(ResultSet row) throws SQLException;
    }

    /** The first row's record. */
    <R> Optional<R> first(String text, Row<R> record, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            bind(statement, values);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? Optional.of(record.read(rows)) : Optional.empty();
            }
        }
    }

    /** All rows' records. */
    <R> List<R> all(String text, Row<R> record, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            bind(statement, values);
            try (ResultSet rows = statement.executeQuery()) {
                List<R> records = new ArrayList<>();
                while (rows.next()) {
                    records.add(record.read(rows));
                }
                return records;
            }
        }
    }

    /** Changes rows, and tells how many. */
    int change(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            bind(statement, values);
            return statement.executeUpdate();
        }
    }

    /** Inserts a row, and tells its identity. */
    long insert(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text, Statement.RETURN_GENERATED_KEYS)) {
            bind(statement, values);
            statement.executeUpdate();
            try (ResultSet keys = statement.getGeneratedKeys()) {
                keys.next();
                return keys.getLong(1);
            }
        }
    }

    /** Rows that are inserted together. */
    void insertAll(String text, Iterable<Object[]> rows) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (Object[] values : rows) {
                bind(statement, values);
                statement.addBatch();
            }
            statement.executeBatch();
        }
    }

    void run(List<String> texts) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : texts) {
                statement.execute(text);
            }
        }
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            if (values[i] instanceof String text) {
                statement.setString(i + 1, text);
            } else if (values[i] instanceof Long number) {
                statement.setLong(i + 1, number);
            } else {
                statement.setNull(i + 1, Types.BIGINT);
            }
        }
    }

    // Rows

    static Records.Account account(ResultSet row) throws SQLException {
        long time = row.getLong(7);
        Long lastLogin = row.wasNull() ? null : time;
        return new Records.Account(
                row.getLong(1),
                row.getString(2),
                row.getLong(3),
                row.getLong(4),
                row.getLong(5),
                row.getLong(6),
                lastLogin,
                row.getLong(8));
    }

    static Records.Holding holding(ResultSet row) throws SQLException {
        return new Records.Holding(row.getLong(1), row.getString(2), row.getLong(3), row.getLong(4), row.getLong(5));
    }

    /** Of a row of HOLDINGS; null where the user has none. */
    static Records.Holding maybeHolding(ResultSet row) throws SQLException {
        return row.getString(2) == null ? null : holding(row);
    }

    static Records.Owned<Records.Holding> ownedHolding(ResultSet row) throws SQLException {
        return new Records.Owned<>(row.getString(6), holding(row));
    }

    static Records.Quote quote(ResultSet row) throws SQLException {
        return new Records.Quote(
                row.getString(1),
                row.getString(2),
                row.getLong(3),
                row.getLong(4),
                row.getLong(5),
                row.getLong(6),
                row.getLong(7),
                row.getLong(8));
    }

    static Records.Owned<Records.Order> ownedOrder(ResultSet row) throws SQLException {
        Records.Order order = new Records.Order(
                row.getLong(1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getLong(5),
                row.getLong(6),
                row.getLong(7),
                row.getLong(8),
                row.getLong(9),
                row.getLong(10));
        return new Records.Owned<>(row.getString(11), order);
    }

    static Records.Profile profile(ResultSet row) throws SQLException {
        return new Records.Profile(
                row.getString(1), row.getString(2), row.getString(3), row.getString(4), row.getString(5));
    }

    static Records.Secret secret(ResultSet row) throws SQLException {
        return new Records.Secret(profile(row), row.getString(6));
    }
}
