import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Orders with a factor: what they do to their stock, what is refused, and that none is lost. */
final class MoveTest {
    @TempDir
    Path folder;

    // The law

    private static Records.Quote quote(long price) {
        return new Records.Quote("A", "a", price, price, price, price, 0, 1000);
    }

    private static long next(long price, long factor) {
        return quote(price).moved(1, factor).price();
    }

    @Test
    void pricesByHand() {
        assertEquals(1662, next(1787, 93), "1661.91");
        assertEquals(44_000, next(40_000, 110));
        assertEquals(20_001, next(40_001, 110), "20000.5");
        assertEquals(22_000, next(44_000, 90));
        assertEquals(600, next(1, 100));
        assertEquals(2, next(2, 90), "1.8");
        assertEquals(5, next(5, 90), "4.5");
        assertEquals(0, next(0, 110));
    }

    @Test
    void extremesTakeThePriceInAndTheVolumeRises() {
        Records.Quote down = quote(1000).moved(3, 90);
        assertEquals(new Records.Quote("A", "a", 900, 1000, 900, 1000, -100, 1003), down);
        Records.Quote up = down.moved(4, 110).moved(0, 110);
        assertEquals(new Records.Quote("A", "a", 1089, 1000, 900, 1089, 89, 1007), up);
        assertEquals(new Records.Quote("A", "a", 1089, 1000, 900, 1089, 89, 1008), up.moved(1, 100));
    }

    // Services

    /** Each transport, and each database. */
    @Test
    void ordersWithAFactorOverEachTransportOnEachDatabase() throws Exception {
        String data = Service.data(folder).toString();
        try (PostgresServer server = PostgresServer.start()) {
            List<String[]> all = new ArrayList<>();
            for (String protocol : Client.PROTOCOLS) {
                all.add(new String[] {protocol, "memory"});
            }
            all.add(new String[] {"grpc", "file"});
            all.add(new String[] {"http1-json", "derby"});
            if (server != null) {
                all.add(new String[] {"soap", server.overSocket()});
            }
            for (String[] each : all) {
                String where = each[1] + " over " + each[0];
                String state = Files.createTempDirectory(folder, "state").toString();
                var variables = Map.of("DATA", data, "DATABASE", each[1], "STATE", state, "PROTOCOL", each[0]);
                try (Service service = Service.java(variables);
                        Client client = Client.of(each[0], service)) {
                    String fresh = client.dump();
                    moves(client, where);
                    call(client, "reset", "");
                    assertEquals("1787 1787 1787 1787 0 343033", numbers(client), where);
                    assertEquals(fresh, client.dump(), where + ": a reset is a fresh population");
                    refuses(client, where);
                    assertEquals(fresh, client.dump(), where + ": what is refused changes nothing");
                    losesNothing(client, where);
                    call(client, "reset", "");
                    assertEquals(fresh, client.dump(), where);
                }
            }
        }
    }

    private static JsonNode call(Client client, String name, String fields) throws Exception {
        return client.call(name, Service.JSON.readTree("{" + fields.replace('\'', '"') + "}"));
    }

    /** The quote of A: price, open, low, high, change and volume. */
    private static String numbers(Client client) throws Exception {
        JsonNode quote = call(client, "quote", "'symbol':'A'");
        StringBuilder numbers = new StringBuilder();
        for (String field : List.of("price", "open", "low", "high", "change", "volume")) {
            numbers.append(quote.get(field)).append(' ');
        }
        return numbers.toString().strip();
    }

    private static void moves(Client client, String where) throws Exception {
        assertEquals("1787 1787 1787 1787 0 343033", numbers(client), where);
        JsonNode bought = call(client, "buy", "'user':'000001','symbol':'A','quantity':3,'factor':93");
        assertEquals(1787, bought.get("price").asInt(), where + ": the price that it found");
        assertEquals("1662 1787 1662 1787 -125 343036", numbers(client), where);
        JsonNode sold = call(client, "sell-first", "'user':'000001','symbol':'A','quantity':3,'factor':110");
        assertEquals(1662, sold.get("order").get("price").asInt(), where);
        assertEquals("1828 1787 1662 1828 41 343039", numbers(client), where);
        JsonNode first =
                call(client, "holdings", "'user':'000001'").get("holdings").get(0);
        assertEquals(101, first.get("quantity").asInt(), where);
        JsonNode last = call(client, "sell", "'user':'000001','factor':100,'holding':" + first.get("id"));
        assertEquals(1828, last.get("price").asInt(), where);
        assertEquals("1828 1787 1662 1828 41 343140", numbers(client), where);
        long balance = 200_000 - 3 * 1787 + 3 * 1662 + 101 * 1828 - 3 * 2495;
        JsonNode account = call(client, "account", "'user':'000001'");
        assertEquals(balance, account.get("balance").asLong(), where);
        JsonNode fixed = call(client, "buy", "'user':'000001','symbol':'A','quantity':5");
        assertEquals(1828, fixed.get("price").asInt(), where);
        assertEquals("1828 1787 1662 1828 41 343140", numbers(client), where + ": without a factor");
    }

    private static void refuses(Client client, String where) throws Exception {
        JsonNode list = call(client, "holdings", "'user':'000001'").get("holdings");
        List<String> wrong = new ArrayList<>(List.of("89", "111", "0", "-100", "9223372036854775807"));
        if (!where.endsWith("grpc")) {
            // What its messages cannot say.
            wrong.addAll(List.of("'one'", "''", "'100.0'", "9223372036854775808", "1.5", "true"));
        }
        for (String factor : wrong) {
            for (String order : List.of(
                    "buy 'symbol':'A','quantity':1",
                    "sell-first 'symbol':'A','quantity':101",
                    "sell 'holding':" + list.get(0).get("id"))) {
                String[] words = order.split(" ");
                for (String user : List.of("000001", "nobody")) {
                    String fields = words[1] + ",'user':'" + user + "','factor':" + factor;
                    int status = call(client, words[0], fields).asInt();
                    assertEquals(400, status, where + ": " + order + " by " + factor);
                }
            }
        }
        for (String order : List.of(
                "buy 'user':'nobody','symbol':'A','quantity':1",
                "buy 'user':'000001','symbol':'NONE','quantity':1",
                "sell-first 'user':'000001','symbol':'A','quantity':9",
                "sell 'user':'000002','holding':" + list.get(0).get("id"))) {
            String[] words = order.split(" ");
            int status = call(client, words[0], words[1] + ",'factor':93").asInt();
            assertEquals(404, status, where + ": " + order);
        }
    }

    /** Eight users buy and sell the same stock at once: no change of its price or volume is lost. */
    private static void losesNothing(Client client, String where) throws Exception {
        JsonNode first = call(client, "quote", "'symbol':'BR&D'");
        List<CompletableFuture<List<JsonNode>>> all = new ArrayList<>();
        for (int user = 10; user < 18; user++) {
            String fields = "'user':'0000" + user + "','symbol':'BR&D','factor':110,'quantity':";
            all.add(CompletableFuture.supplyAsync(() -> traded(client, fields), task -> new Thread(task).start()));
        }
        List<JsonNode> orders =
                all.stream().flatMap(orderList -> orderList.join().stream()).toList();
        assertTrue(orders.size() > 100, where + ": " + orders.size());
        long volume = first.get("volume").asLong();
        long price = first.get("price").asLong();
        List<Long> prices = new ArrayList<>();
        for (JsonNode order : orders) {
            volume += order.get("quantity").asLong();
            prices.add(price);
            price = next(price, 110);
        }
        JsonNode last = call(client, "quote", "'symbol':'BR&D'");
        assertEquals(volume, last.get("volume").asLong(), where);
        assertEquals(price, last.get("price").asLong(), where);
        List<Long> found = orders.stream()
                .map(order -> order.get("price").asLong())
                .sorted()
                .toList();
        assertEquals(prices.stream().sorted().toList(), found, where + ": each found what another left");
    }

    /** The good orders among forty. */
    private static List<JsonNode> traded(Client client, String fields) {
        List<JsonNode> orders = new ArrayList<>();
        try {
            for (int i = 0; i < 20; i++) {
                for (String name : List.of("buy", "sell-first")) {
                    JsonNode reply = call(client, name, fields + (i + 100));
                    JsonNode order = reply.path("order").isObject() ? reply.get("order") : reply;
                    if (order.isObject()) {
                        orders.add(order);
                    } else {
                        // What could not be bought cannot be sold.
                        assertTrue(List.of(503, 404).contains(order.asInt()), name + ": " + order);
                    }
                }
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return orders;
    }

    /** Where JSON says that there is none, there is none. */
    @Test
    void aFactorThatIsNullIsNone() throws Exception {
        try (Service service = Service.java(Map.of("DATA", Service.data(folder).toString()))) {
            Client client = new Client.Json(service);
            String first = numbers(client);
            JsonNode order = call(client, "buy", "'user':'000001','symbol':'A','quantity':1,'factor':null");
            assertTrue(order.isObject(), order.toString());
            assertEquals(first, numbers(client));
        }
    }

    // A stock that another transaction does not let go

    private Population population() throws Exception {
        return Population.read(Service.data(folder));
    }

    @Test
    void aStockThatIsNotToBeHadInTimeIsAgain() throws Exception {
        // By default it waits a minute.
        System.setProperty("derby.locks.waitTimeout", "1");
        isAgain(new Engine(EngineH2.inMemory(), population()), DriverManager.getConnection("jdbc:h2:mem:trade"), true);
        // Its readers wait for a change too.
        Engine derby = new Engine(new EngineDerby(), population());
        isAgain(derby, DriverManager.getConnection("jdbc:derby:memory:trade"), false);
        try (PostgresServer server = PostgresServer.start()) {
            if (server != null) {
                String words = server.overTcp().substring("postgres:".length()) + " options='-c lock_timeout=500ms'";
                isAgain(new Engine(EnginePostgres.of(words), population()), server.connect(), true);
            }
        }
    }

    private static void isAgain(Engine engine, Connection other, boolean isRead) throws Exception {
        Records.Quote first = engine.quote("A");
        Records.Account account = engine.account("000001");
        try (other;
                var statement = other.createStatement()) {
            other.setAutoCommit(false);
            assertEquals(1, statement.executeUpdate("UPDATE stock SET volume = volume WHERE symbol = 'A'"));
            Fault fault = assertThrows(Fault.class, () -> engine.buy("000001", "A", 1, 93L));
            assertEquals(Fault.Kind.AGAIN, fault.kind, fault.getMessage());
            if (isRead) {
                assertEquals(first, engine.quote("A"));
                assertEquals(1787, engine.buy("000002", "A", 1, null).price(), "without a factor nothing is locked");
            }
            other.rollback();
        }
        assertEquals(account, engine.account("000001"), "nothing has changed");
        assertEquals(1787, engine.buy("000001", "A", 1, 93L).price(), "the next attempt");
        assertEquals(1662, engine.quote("A").price());
    }
}
