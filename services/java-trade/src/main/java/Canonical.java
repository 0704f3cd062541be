import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.function.ToLongFunction;

/** The canonical form of replies and of a database, which has neither ids nor times: what the oracle compares. */
final class Canonical {
    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    private final StringBuilder text = new StringBuilder();

    @Override
    public String toString() {
        return text.toString();
    }

    // Records

    Canonical add(Records.Account account) {
        kind("account").line("user", account.user());
        return line("balance", account.balance())
                .line("open_balance", account.openBalance())
                .line("logins", account.logins())
                .line("logouts", account.logouts());
    }

    Canonical add(Records.Holding holding) {
        return kind("holding").fields(holding);
    }

    Canonical add(Records.Quote quote) {
        kind("quote").line("symbol", quote.symbol()).line("company", quote.company());
        line("price", quote.price()).line("open", quote.open()).line("low", quote.low());
        return line("high", quote.high()).line("change", quote.change()).line("volume", quote.volume());
    }

    Canonical add(Records.Order order) {
        return kind("order").fields(order);
    }

    Canonical add(Records.Profile profile) {
        kind("profile").line("user", profile.user()).line("full_name", profile.fullName());
        return line("address", profile.address()).line("email", profile.email()).line("card", profile.card());
    }

    Canonical add(List<Records.Holding> holdings) {
        kind("holdings");
        holdings.stream().sorted(BY_LOT).forEach(this::add);
        return this;
    }

    private Canonical fields(Records.Holding holding) {
        return line("symbol", holding.symbol())
                .line("quantity", holding.quantity())
                .line("price", holding.price());
    }

    private Canonical fields(Records.Order order) {
        line("kind", order.kind()).line("status", order.status()).line("symbol", order.symbol());
        return line("quantity", order.quantity()).line("price", order.price()).line("fee", order.fee());
    }

    private Canonical kind(String kind) {
        text.append(kind).append('\n');
        return this;
    }

    private Canonical line(String field, Object value) {
        text.append(field).append('=').append(value).append('\n');
        return this;
    }

    // Order

    /** By bytes of UTF-8, which is that of code points; Java's own order is that of UTF-16. */
    static final Comparator<String> BY_BYTES = (a, b) -> {
        int end = Math.min(a.length(), b.length());
        for (int i = 0; i < end; i++) {
            char x = a.charAt(i);
            char y = b.charAt(i);
            if (x != y) {
                // Only surrogates are beyond what is behind them.
                boolean oneIsBeyond = Character.isSurrogate(x) != Character.isSurrogate(y);
                return oneIsBeyond ? (Character.isSurrogate(x) ? 1 : -1) : x - y;
            }
        }
        return a.length() - b.length();
    };

    private static final Comparator<Records.Holding> BY_LOT = Comparator.comparing(Records.Holding::symbol, BY_BYTES)
            .thenComparingLong(Records.Holding::quantity)
            .thenComparingLong(Records.Holding::price);

    private static final Comparator<Records.Order> BY_ORDER = Comparator.comparing(Records.Order::kind, BY_BYTES)
            .thenComparing(Records.Order::symbol, BY_BYTES)
            .thenComparingLong(Records.Order::quantity)
            .thenComparingLong(Records.Order::price)
            .thenComparingLong(Records.Order::fee);

    private static <R> Comparator<Records.Owned<R>> byOwner(Comparator<R> then) {
        return Comparator.comparing((Records.Owned<R> owned) -> owned.user(), BY_BYTES)
                .thenComparing(Records.Owned::record, then);
    }

    // Digests

    /** FNV-1a of 64 bits over the text. */
    long hash() {
        long hash = FNV_OFFSET;
        for (byte b : toString().getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (b & 0xff)) * FNV_PRIME;
        }
        return hash;
    }

    /** FNV-1a over the hashes of replies, 8 bytes each, the lowest first. */
    static final class Session {
        private long hash = FNV_OFFSET;

        void add(long reply) {
            for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
                hash = (hash ^ (reply >>> shift & 0xff)) * FNV_PRIME;
            }
        }

        long hash() {
            return hash;
        }
    }

    // Database

    /** All records without ids and times, in an order that only they decide. */
    static String dump(Records.Contents contents) {
        Canonical dump = new Canonical();
        contents.quotes().stream()
                .sorted(Comparator.comparing(Records.Quote::symbol, BY_BYTES))
                .forEach(dump::add);
        contents.profiles().stream()
                .sorted(Comparator.comparing(secret -> secret.profile().user(), BY_BYTES))
                .forEach(secret -> dump.add(secret.profile()).line("password", secret.password()));
        contents.accounts().stream()
                .sorted(Comparator.comparing(Records.Account::user, BY_BYTES))
                .forEach(dump::add);
        contents.holdings().stream().sorted(byOwner(BY_LOT)).forEach(owned -> dump.kind("holding")
                .line("user", owned.user())
                .fields(owned.record()));
        contents.orders().stream()
                .sorted(byOwner(BY_ORDER))
                .forEach(owned -> dump.kind("order").line("user", owned.user()).fields(owned.record()));
        return dump.toString();
    }

    /** Numbers of records, sums over them, and the dump's hash. */
    static Records.State state(Records.Contents contents) {
        return new Records.State(
                contents.quotes().size(),
                contents.accounts().size(),
                contents.profiles().size(),
                contents.holdings().size(),
                orders(contents, "buy"),
                orders(contents, "sell"),
                sum(contents, Records.Account::logins),
                sum(contents, Records.Account::logouts),
                sum(contents, Records.Account::balance),
                sha256(dump(contents)));
    }

    private static long orders(Records.Contents contents, String kind) {
        return contents.orders().stream()
                .filter(owned -> owned.record().kind().equals(kind))
                .count();
    }

    private static long sum(Records.Contents contents, ToLongFunction<Records.Account> field) {
        return contents.accounts().stream().mapToLong(field).sum();
    }

    private static String sha256(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has it", e);
        }
    }
}
