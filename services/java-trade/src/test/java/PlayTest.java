import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script played in the process ends as in the service in Rust, and a transaction that another is in the way of is *again*. */
final class PlayTest {
    @TempDir
    Path folder;

    @Test
    void threadsAndDatabasesEndAlike() throws Exception {
        endsAlike(Service.data(folder), 20);
    }

    @Test
    void dacaposScriptIsCarriedOut() throws Exception {
        Path source = Path.of(System.getProperty("basedir"), "../../../shared/data/dacapo");
        if (!Files.isDirectory(source)) {
            System.err.println("SKIPPED: DaCapo's script, since its files are not there");
            return;
        }
        Files.copy(source.resolve("stocks.txt"), folder.resolve("stocks.txt"));
        for (var file : Map.of("users.txt", 48, "workload.txt", 32).entrySet()) {
            List<String> lines = Files.readAllLines(source.resolve(file.getKey())).stream()
                    .filter(line -> !line.startsWith("#"))
                    .limit(file.getValue())
                    .toList();
            Files.write(folder.resolve(file.getKey()), lines);
        }
        assertTrue(endsAlike(folder, 32).contains("5018ea576cf45983"), "the digest of the contract's model");
    }

    /** The digest and the end of all passages. */
    private String endsAlike(Path data, int sessions) throws Exception {
        Set<String> ends = new HashSet<>();
        try (Service rust = Service.rust(Map.of("DATA", data.toString(), "DIRECT", "1"))) {
            ends.addAll(passages(rust, sessions, 1));
        }
        try (PostgresServer server = PostgresServer.start()) {
            List<String> databases = new ArrayList<>(List.of("memory", "file", "derby"));
            if (server != null) {
                databases.add(server.overSocket());
            }
            for (String database : databases) {
                String state = Files.createTempDirectory(folder, "state").toString();
                var variables = Map.of("DATA", data.toString(), "DIRECT", "1", "DATABASE", database, "STATE", state);
                try (Service java = Service.java(variables)) {
                    for (int threads : List.of(1, 2, 16)) {
                        ends.addAll(passages(java, sessions, threads));
                        assertEquals(2, ends.size(), database + ", " + threads + " threads: " + ends);
                    }
                    assertEquals(0, java.stop());
                }
            }
        }
        return ends.toString();
    }

    /** The ends of a passage of fine and of one of coarse grain, each from a restored database. */
    private static List<String> passages(Service service, int sessions, int threads) throws Exception {
        List<String> ends = new ArrayList<>();
        for (String grain : List.of("fine", "coarse")) {
            assertEquals("{}", service.answer("reset"));
            ends.add(passage(service, sessions, threads, grain));
        }
        return ends;
    }

    private static String passage(Service service, int sessions, int threads, String grain) throws Exception {
        JsonNode window = service.value("window 7 " + sessions + " " + threads + " " + grain);
        assertTrue(window.get("id").asLong() == 7 && window.get("elapsed_ns").asLong() > 0, "a window");
        assertTrue(window.get("cpu_ns").asLong() > 0, "its CPU time");
        StringBuilder end = new StringBuilder(window.get("digest").asText());
        Map<String, JsonNode> operations = new TreeMap<>();
        window.get("operations").properties().forEach(one -> operations.put(one.getKey(), one.getValue()));
        assertEquals(grain.equals("fine") ? 13 : 9, operations.size(), grain);
        operations.forEach((operation, told) -> {
            assertEquals(told.get("good").asInt(), told.get("times_ns").size(), operation);
            end.append(' ').append(operation).append(told.get("good")).append(told.get("failed"));
            end.append(told.get("retried"));
        });
        JsonNode state = service.value("state");
        for (String sum : List.of("accounts", "profiles", "holdings", "buys", "sells", "logins", "logouts", "sha256")) {
            end.append(' ').append(state.get(sum).asText());
        }
        return end.append(' ').append(state.get("balance")).toString();
    }

    @Test
    void linesThatAreNoQuestionAreAnsweredWithAnError() throws Exception {
        String data = Service.data(folder).toString();
        try (Service service = Service.java(Map.of("DATA", data, "DIRECT", "1"))) {
            for (String line : List.of(
                    "",
                    "frobnicate",
                    "window",
                    "window 1 1 1",
                    "window 1 0 1 fine",
                    "window 1 21 1 fine",
                    "window 1 1 0 fine",
                    "window 1 1 2000 fine",
                    "window x 1 1 fine",
                    "window 1 01 1 fine",
                    "window 1 1 1 medium",
                    "window 1 1 1 fine coarse",
                    "state now")) {
                String answer = service.answer(line);
                assertTrue(answer.startsWith("error ") && answer.length() > 10, line + ": " + answer);
            }
            assertEquals(7, service.value("window 7 1 1 coarse").get("id").asInt());
        }
    }

    @Test
    void callsAtOnceLoseNothing() throws Exception {
        String data = Service.data(folder).toString();
        for (String database : List.of("memory", "file", "derby")) {
            String state = Files.createTempDirectory(folder, "state").toString();
            try (Service service = Service.java(Map.of("DATA", data, "DATABASE", database, "STATE", state))) {
                Client client = new Client.Json(service);
                JsonNode order = Service.JSON.readTree("{\"user\":\"000005\",\"symbol\":\"BR&D\",\"quantity\":1}");
                List<CompletableFuture<Void>> all = new ArrayList<>();
                for (int thread = 0; thread < 8; thread++) {
                    all.add(CompletableFuture.runAsync(() -> {
                        for (int i = 0; i < 25; i++) {
                            try {
                                assertTrue(client.call("buy", order).isObject(), database);
                                assertTrue(client.call("logout", order).isObject(), database);
                            } catch (Exception e) {
                                throw new IllegalStateException(e);
                            }
                        }
                    }));
                }
                all.forEach(CompletableFuture::join);
                JsonNode account = client.call("account", order);
                assertEquals(200, account.get("logouts").asInt(), database);
                assertEquals(
                        600_000 - 200 * (250 + 2495), account.get("balance").asLong(), database);
            }
        }
    }

    @Test
    void aDeadlockIsAgain() throws Exception {
        String data = Service.data(folder).toString();
        try (PostgresServer server = PostgresServer.start()) {
            for (String protocol : server == null ? List.<String>of() : Client.PROTOCOLS) {
                var variables = Map.of("DATA", data, "DATABASE", server.overTcp(), "PROTOCOL", protocol);
                try (Service service = Service.java(variables);
                        Client client = Client.of(protocol, service);
                        Connection other = server.connect();
                        Statement statement = other.createStatement()) {
                    JsonNode user = Service.JSON.readTree("{\"user\":\"000001\"}");
                    JsonNode holding =
                            client.call("holdings", user).get("holdings").get(0).get("id");
                    JsonNode sale = Service.JSON.readTree("{\"user\":\"000001\",\"holding\":" + holding + "}");
                    String before = client.dump();
                    // The other one has the holding and will want the account; it never gives up first.
                    statement.execute("SET deadlock_timeout = '1min'");
                    other.setAutoCommit(false);
                    statement.execute("SELECT * FROM holding WHERE id = " + holding + " FOR UPDATE");
                    var answer = CompletableFuture.supplyAsync(() -> {
                        try {
                            return client.call("sell", sale);
                        } catch (Exception e) {
                            throw new IllegalStateException(e);
                        }
                    });
                    // The service's transaction has the account and waits for the holding.
                    while (waiting(server) == 0) {
                        Thread.sleep(5);
                    }
                    statement.execute("UPDATE account SET logins = logins WHERE user_id = '000001'");
                    other.commit();
                    assertEquals(503, answer.join().asInt(), protocol);
                    assertEquals(before, client.dump(), "nothing has changed");
                    assertTrue(client.call("sell", sale).isObject(), "the next attempt");
                }
            }
        }
    }

    private static int waiting(PostgresServer server) throws Exception {
        String query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        try (Connection connection = server.connect();
                ResultSet rows = connection.createStatement().executeQuery(query)) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
