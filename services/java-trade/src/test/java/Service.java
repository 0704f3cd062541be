import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A service at work, this one or the one in Rust; closing kills it. */
final class Service implements AutoCloseable {
    static final ObjectMapper JSON = new ObjectMapper();

    private static final String RUST = "../rust-trade/target/release/weigh-rust-trade";

    private final Process process;
    private final BufferedReader output;
    /** What it said behind `ready`. */
    final String ready;

    private Service(Process process) throws IOException {
        this.process = process;
        output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = output.readLine();
        if (line == null || !line.startsWith("ready ")) {
            throw new IllegalStateException("not ready: " + line);
        }
        ready = line.substring("ready ".length());
    }

    /** This service, in the run-time of the test. */
    static Service java(Map<String, String> variables) throws IOException {
        return new Service(process(variables)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    static ProcessBuilder process(Map<String, String> variables, String... arguments) {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command = new ArrayList<>(List.of(java, "-cp", System.getProperty("java.class.path"), "Main"));
        if (Runtime.version().feature() > 21) {
            // As the manifest of the archive has it.
            command.add(1, "--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of(arguments));
        return with(new ProcessBuilder(command), variables);
    }

    static Service rust(Map<String, String> variables) throws IOException {
        File program = Path.of(System.getProperty("basedir"), RUST).toFile();
        if (!program.canExecute()) {
            throw new IllegalStateException(program + " is not there: `weigh services build rust-trade` makes it");
        }
        return new Service(
                with(new ProcessBuilder(program.toString()), variables).start());
    }

    private static ProcessBuilder with(ProcessBuilder builder, Map<String, String> variables) {
        builder.environment().keySet().removeAll(List.of("HOST", "WORKLOAD", "PROTOCOL", "NAGLE", "DIRECT", "STATE"));
        builder.environment().put("PORT", "0");
        builder.environment().putAll(variables);
        return builder;
    }

    String base() {
        return "http://127.0.0.1:" + ready;
    }

    /** The answer to a line. */
    String answer(String line) throws IOException {
        OutputStream input = process.getOutputStream();
        input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        input.flush();
        return output.readLine();
    }

    JsonNode value(String line) throws IOException {
        return JSON.readTree(answer(line));
    }

    /** Its exit code behind SIGTERM. */
    int stop() throws InterruptedException {
        process.destroy();
        return process.waitFor(10, TimeUnit.SECONDS) ? process.exitValue() : -1;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    // Data

    /** The files of a small script with names that codecs and paths must escape: 30 users, sessions of the first twenty. */
    static Path data(Path folder) throws IOException {
        List<String> symbols = List.of("A", "BR&D", "ÇE", "D");
        StringBuilder users = new StringBuilder("# comment\n");
        StringBuilder sessions = new StringBuilder();
        for (int k = 0; k < 30; k++) {
            String holdings = k == 2 ? "" : "A " + (100 + k) + ", BR&D 7, A " + (100 + k);
            users.append(String.format("%06d\t%d\t1-2-%d\tü%d@x.org\tpw<%d>", k, 1000 * (k + 1), k, k, k))
                    .append(String.format("\tfirst: Ü last: & %d\t%d Rue, É\t%s\n", k, k, holdings));
        }
        for (int k = 0; k < 20; k++) {
            String symbol = symbols.get(k % 4);
            sessions.append(String.format("%06d\tpw<%d>\th\tq %s\tb %s %d\tp\ta", k, k, symbol, symbol, k * 10))
                    .append(String.format("\ts %s %d\tu c%d|e|p%d|f & <%d>|a", symbol, k * 10, k, k, k))
                    .append(k % 3 > 0 ? "" : String.format("\tr %06d|5000|c|e|p|f|a\tb A 5\th\tb D 0\tp", 100 + k))
                    .append('\n');
        }
        Files.writeString(
                folder.resolve("stocks.txt"),
                """
                # comment
                A\tAgile <Tech> & "Söhne"\t17.87\t6.13B
                BR&D\tBread & Butter\t2.50\t372.94M
                ÇE\tÇelik 漢字 🚲\t100.00\t1.00B
                D\tD'Arcy\t0.55\t500
                """);
        Files.writeString(folder.resolve("users.txt"), users);
        Files.writeString(folder.resolve("workload.txt"), sessions);
        return folder;
    }
}
