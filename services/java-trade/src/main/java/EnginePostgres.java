import com.zaxxer.hikari.HikariConfig;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The brokerage in PostgreSQL: a server that is somebody else's affair. */
final class EnginePostgres extends Database {
    /** A word of libpq: a name, and a value that is quoted where it has blanks. */
    private static final Pattern WORD =
            Pattern.compile("\\s*(\\w+)\\s*=\\s*('(?:[^'\\\\]|\\\\.)*'|(?:[^\\s'\\\\]|\\\\.)*)");

    /** The words that the driver takes, by its names for them. */
    private static final Map<String, String> PROPERTIES = Map.of(
            "user", "user",
            "password", "password",
            "options", "options",
            "application_name", "ApplicationName",
            "connect_timeout", "connectTimeout");

    private static final List<String> OTHERS = List.of("host", "port", "dbname");

    /** Both schemas are the service's own, and made anew at its start. */
    private static final List<String> SCHEMAS = List.of(
            "DROP SCHEMA IF EXISTS trade, trade_snapshot CASCADE",
            "CREATE SCHEMA trade",
            "CREATE SCHEMA trade_snapshot");

    private final Map<String, String> words;

    private EnginePostgres(Map<String, String> words) {
        this.words = words;
    }

    /** Reads the words of libpq, such as `host=/run/postgresql user=trade dbname=trade`. */
    static EnginePostgres of(String text) throws Fault {
        Map<String, String> words = new HashMap<>();
        Matcher matcher = WORD.matcher(text.stripTrailing());
        int end = 0;
        for (; matcher.find() && matcher.start() == end; end = matcher.end()) {
            String value = matcher.group(2).replaceFirst("^'(.*)'$", "$1").replaceAll("\\\\(.)", "$1");
            String word = matcher.group(1);
            if (!PROPERTIES.containsKey(word) && !OTHERS.contains(word)) {
                List<String> allowed = new ArrayList<>(OTHERS);
                allowed.addAll(new TreeSet<>(PROPERTIES.keySet()));
                throw wrong("`" + word + "` is not known; allowed: `" + String.join("`, `", allowed) + "`");
            }
            words.put(word, value);
        }
        if (end < text.stripTrailing().length()) {
            throw wrong("`" + text.substring(end).strip() + "` is no word such as `host=127.0.0.1`");
        }
        if (words.getOrDefault("host", "").isEmpty()) {
            throw wrong("there is no `host`");
        }
        if (!words.getOrDefault("port", "5432").matches("\\d{1,5}")) {
            throw wrong("`port` is no number of a port");
        }
        return new EnginePostgres(words);
    }

    private static Fault wrong(String problem) {
        return new Fault(Fault.Kind.WRONG, problem);
    }

    @Override
    HikariConfig pool() {
        String host = words.get("host");
        String port = words.getOrDefault("port", "5432");
        HikariConfig config = new HikariConfig();
        boolean isFolder = host.startsWith("/");
        if (isFolder) {
            config.addDataSourceProperty("socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
            config.addDataSourceProperty("socketFactoryArg", host + "/.s.PGSQL." + port);
        }
        String place = isFolder ? "localhost" : host.contains(":") ? "[" + host + "]" : host;
        String name = URLEncoder.encode(words.getOrDefault("dbname", ""), StandardCharsets.UTF_8);
        config.setJdbcUrl("jdbc:postgresql://" + place + ":" + port + "/" + name);
        config.addDataSourceProperty("currentSchema", "trade");
        // It is in clear text; by default the driver asks for both first.
        config.addDataSourceProperty("sslmode", "disable");
        config.addDataSourceProperty("gssEncMode", "disable");
        PROPERTIES.forEach((word, property) -> {
            if (words.containsKey(word)) {
                config.addDataSourceProperty(property, words.get(word));
            }
        });
        return config;
    }

    @Override
    List<String> schema() {
        List<String> all = new ArrayList<>(SCHEMAS);
        all.addAll(tables("TEXT"));
        return all;
    }

    /** There are no orders at first. */
    @Override
    List<String> populated() {
        return List.of(
                "CREATE TABLE trade_snapshot.stock AS TABLE stock",
                "CREATE TABLE trade_snapshot.profile AS TABLE profile",
                "CREATE TABLE trade_snapshot.account AS TABLE account",
                "CREATE TABLE trade_snapshot.holding AS TABLE holding",
                "ANALYZE");
    }

    /** In one transaction; identities go on where they were at first. */
    @Override
    List<String> restored() {
        return List.of(
                "TRUNCATE stock, profile, account, holding, orders RESTART IDENTITY",
                "INSERT INTO stock SELECT * FROM trade_snapshot.stock",
                "INSERT INTO profile SELECT * FROM trade_snapshot.profile",
                "INSERT INTO account SELECT * FROM trade_snapshot.account",
                "INSERT INTO holding SELECT * FROM trade_snapshot.holding",
                "SELECT setval('account_id_seq', (SELECT coalesce(max(id), 0) + 1 FROM account), false)",
                "SELECT setval('holding_id_seq', (SELECT coalesce(max(id), 0) + 1 FROM holding), false)");
    }

    @Override
    boolean isRefilled() {
        return false;
    }

    @Override
    List<String> locking(String select, String touch) {
        return List.of(select + " FOR UPDATE");
    }

    @Override
    String changed(String change, String columns) {
        return change + " RETURNING " + columns;
    }

    @Override
    String removed(String removal, String columns) {
        return removal + " RETURNING " + columns;
    }
}
