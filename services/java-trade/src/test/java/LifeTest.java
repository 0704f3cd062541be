import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What ends the process before it is ready, and how it says so. */
final class LifeTest {
    @TempDir
    Path folder;

    /** Pairs of names and values, and what the line must hold. */
    private static void refused(int code, String variables, String... words) throws Exception {
        Map<String, String> all = new HashMap<>();
        for (String pair : variables.isEmpty() ? new String[0] : variables.split(",")) {
            all.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        Process process = Service.process(all).start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String line = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(code, process.waitFor(), variables + ": " + line);
        assertEquals("", out, variables);
        assertEquals(1, line.lines().count(), variables + ": " + line);
        for (String word : words) {
            assertTrue(line.contains(word), variables + ": " + line);
        }
    }

    @Test
    void wrongVariablesAreRefusedInTheirOrder() throws Exception {
        String data = "DATA=" + Service.data(folder) + ",";
        refused(2, "PORT=abc,WORKLOAD=x", "`PORT`", "abc");
        refused(2, "WORKLOAD=pingpong", "`WORKLOAD`", "pingpong", "`trade`");
        refused(2, "PROTOCOL=http2-json", "`PROTOCOL`", "http2-json", "`http1-json`", "`grpc`", "`soap`");
        refused(2, "NAGLE=on", "`NAGLE`", "on");
        refused(2, "TLS_CERT=x", "`TLS_CERT`", "x");
        refused(2, data + "DIRECT=2", "`DIRECT`", "2");
        refused(2, "HOST=192.0.2.1", "`HOST`", "192.0.2.1");
        refused(2, "", "`DATA`", "required");
        refused(2, "DATA=/nowhere", "`DATA`", "/nowhere", "stocks.txt");
        refused(2, data + "DATABASE=oracle", "`DATABASE`", "oracle", "`memory`", "`derby`");
        refused(2, data + "DATABASE=file", "`STATE`", "required");
        refused(2, data + "DATABASE=file,STATE=/nowhere", "`STATE`", "/nowhere");
        refused(2, data + "DATABASE=postgres:host", "`DATABASE`", "postgres:host");
        refused(2, data + "DATABASE=postgres:host=a words=b", "`DATABASE`", "words", "`application_name`");
        refused(2, data + "DATABASE=postgres:host=/nowhere user=trade", "`DATABASE`", "/nowhere");
        refused(2, data + "DATABASE=postgres:host=/nowhere user=trade,DIRECT=1", "`DATABASE`", "/nowhere");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            String port = String.valueOf(taken.getLocalPort());
            refused(3, "PORT=" + port, "PORT", port);
        }
    }

    @Test
    void damagedLinesNameFileAndLine() throws Exception {
        for (String[] damage : new String[][] {
            {"stocks.txt", "E\tx\tcheap\t1B", "line 6", "cheap"},
            {"stocks.txt", "A\tx\t1.00\t1B", "line 6", "symbol"},
            {"users.txt", "000001\t1\tc\te\tp\tf\ta\t", "line 32", "before"},
            {"users.txt", "000031\t1\tc\te\tp\tf\ta\tNONE 1", "line 32", "NONE"},
            {"users.txt", "", "line 32", "columns"},
            {"workload.txt", "000001\tpw\tb A", "line 21", "quantity"},
            {"workload.txt", "000001\tpw\tz", "line 21", "no step"}
        }) {
            Path data = Service.data(Files.createTempDirectory(folder, "data"));
            Files.writeString(data.resolve(damage[0]), damage[1] + "\n", StandardOpenOption.APPEND);
            refused(2, "DATA=" + data, "`DATA`", damage[0], damage[2], damage[3]);
        }
        Path data = Service.data(folder);
        Files.write(data.resolve("stocks.txt"), new byte[] {'A', '\t', (byte) 0xff, '\n'});
        refused(2, "DATA=" + data, "`DATA`", "line 1", "UTF-8");
    }

    @Test
    void theVersionIsTold() throws IOException {
        Process process = Service.process(Map.of("PORT", "abc"), "--version").start();
        String line = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(line.startsWith("Java ") && line.contains(" jaxws-rt ") && line.contains(" h2 "), line);
        assertEquals(0, line.strip().split(" ").length % 2);
    }
}
