import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;

/** The records of the brokerage, as services/trade/trade.proto has them. Money is in whole cents, times are in ms since 1970. */
final class Records {
    /** The fee of each order, in cents. */
    static final long FEE = 2495;

    private Records() {}

    /** Last login is null before the first one. */
    record Account(
            long id,
            String user,
            long balance,
            @JsonProperty("open_balance") long openBalance,
            long logins,
            long logouts,
            @JsonProperty("last_login") Long lastLogin,
            long created) {}

    record Holding(long id, String symbol, long quantity, long price, long bought) {}

    /** By id. */
    record HoldingList(List<Holding> holdings) {
        /** The id of the first holding of that stock with that quantity. */
        Optional<Long> firstOf(String symbol, long quantity) {
            return holdings.stream()
                    .filter(holding -> holding.symbol().equals(symbol) && holding.quantity() == quantity)
                    .findFirst()
                    .map(Holding::id);
        }
    }

    record Quote(String symbol, String company, long price, long open, long low, long high, long change, long volume) {
        /** A price above this is halved, whatever the factor. */
        private static final long DEAREST = 40_000;
        /** What a price of one cent becomes, which a factor would leave as it is. */
        private static final long RECOVERED = 600;

        /** What an order leaves of it, whose factor is in hundredths: DayTrader's law. */
        Quote moved(long quantity, long factor) {
            long next = price == 1 ? RECOVERED : price > DEAREST ? (price + 1) / 2 : (price * factor + 50) / 100;
            long lowest = Math.min(low, next);
            return new Quote(symbol, company, next, open, lowest, Math.max(high, next), next - open, volume + quantity);
        }
    }

    record Order(
            long id,
            String kind,
            String status,
            String symbol,
            long quantity,
            long price,
            long fee,
            long holding,
            long opened,
            long completed) {}

    record Profile(
            String user, @JsonProperty("full_name") String fullName, String address, String email, String card) {}

    // Replies of coarse calls

    record HomeReply(Account account, List<Holding> holdings) {}

    /** A quote for each holding, in their order. */
    record PortfolioReply(List<Holding> holdings, List<Quote> quotes) {}

    /** The holdings as they were before. */
    record SellFirstReply(List<Holding> holdings, Order order) {}

    /** The user's before, logged out, and the new one's. */
    record SwitchUserReply(Account account, Account registered) {}

    // Requests

    /** The five fields that an update replaces. */
    record Fields(
            @JsonProperty("full_name") String fullName, String address, String email, String card, String password) {}

    record Registration(
            String user,
            String password,
            @JsonProperty("full_name") String fullName,
            String address,
            String email,
            String card,
            long balance) {}

    // Contents of a database

    /** A record of somebody. */
    record Owned<R>(String user, R record) {}

    /** A profile with its password, which no reply has. */
    record Secret(Profile profile, String password) {}

    /** All that a database holds. */
    record Contents(
            List<Quote> quotes,
            List<Secret> profiles,
            List<Account> accounts,
            List<Owned<Holding>> holdings,
            List<Owned<Order>> orders) {}

    /** Numbers of records, sums over them, and the dump's hash. */
    record State(
            long stocks,
            long accounts,
            long profiles,
            long holdings,
            long buys,
            long sells,
            long logins,
            long logouts,
            long balance,
            String sha256) {}
}
