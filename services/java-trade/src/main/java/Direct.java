import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** DIRECT=1: the script is played in this process, asked for on stdin and answered on stdout, a line each. */
final class Direct {
    private static final int MOST_THREADS = 1024;
    /** How long a line may take after SIGTERM, in ms; the contract allows 5 s in all. */
    private static final int GRACE = 4_000;

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final Engine engine;
    private final List<Script.Session> sessions;
    /** Held while a line is being worked on. */
    private final Object work = new Object();

    Direct(Engine engine, List<Script.Session> sessions) {
        this.engine = engine;
        this.sessions = sessions;
    }

    /** What is wrong with a line. */
    @SuppressWarnings("serial")
    private static final class Wrong extends Exception {
        Wrong(String message) {
            super(message);
        }
    }

    // Handlers

    private Object answer(String line) throws Wrong, Fault {
        String[] words = line.split(" ", -1);
        if (words.length == 5 && words[0].equals("window")) {
            BigInteger id = number(words[1], null, "`" + words[1] + "` is no whole number");
            int number = from1(words[2], sessions.size(), "sessions");
            return window(id, number, from1(words[3], MOST_THREADS, "threads"), grain(words[4]));
        }
        switch (line) {
            case "reset":
                engine.reset();
                return Map.of();
            case "state":
                return Canonical.state(engine.contents());
            default:
                throw new Wrong("\"" + line
                        + "\" is not known; allowed: `window <id> <sessions> <threads> <grain>`, `reset`, `state`");
        }
    }

    /** Plays the first sessions on so many threads, each of which takes the next one when it is free. */
    private Object window(BigInteger id, int number, int threads, Tally.Grain grain) {
        AtomicInteger next = new AtomicInteger();
        List<Play> plays = IntStream.range(0, threads)
                .mapToObj(i -> new Play(engine, grain))
                .toList();
        List<Thread> players = plays.stream()
                .map(play -> new Thread(() -> {
                    for (int k; (k = next.getAndIncrement()) < number; ) {
                        play.play(sessions.get(k));
                    }
                }))
                .toList();
        long cpu = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        players.forEach(Thread::start);
        players.forEach(Direct::join);
        long elapsed = System.nanoTime() - start;
        cpu = SYSTEM.getProcessCpuTime() - cpu;
        List<Tally> tallies = plays.stream().map(Play::tally).toList();
        tallies.stream()
                .map(Tally::problem)
                .filter(Objects::nonNull)
                .findFirst()
                .ifPresent(problem -> System.err.println("window " + id + ": a request failed: " + problem));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", id);
        answer.put("elapsed_ns", elapsed);
        answer.put("cpu_ns", cpu);
        answer.put("digest", String.format("%016x", Play.digest(plays)));
        answer.put("operations", Tally.told(tallies, grain));
        return answer;
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException nobodyDoes) {
            throw new IllegalStateException(nobodyDoes);
        }
    }

    private static Tally.Grain grain(String text) throws Wrong {
        switch (text) {
            case "fine":
                return Tally.Grain.FINE;
            case "coarse":
                return Tally.Grain.COARSE;
            default:
                throw new Wrong("the grain is \"" + text + "\", allowed: `fine`, `coarse`");
        }
    }

    private static int from1(String text, int most, String what) throws Wrong {
        String problem = "the " + what + " must be from 1 to " + most;
        int number = number(text, BigInteger.valueOf(most), problem).intValue();
        if (number == 0) {
            throw new Wrong(problem);
        }
        return number;
    }

    /** A decimal number as the contract writes it: digits only, no leading zero. */
    private static BigInteger number(String text, BigInteger most, String problem) throws Wrong {
        BigInteger number = text.matches("0|[1-9]\\d{0,18}") ? new BigInteger(text) : null;
        if (number == null || most != null && number.compareTo(most) > 0) {
            throw new Wrong(problem);
        }
        return number;
    }

    // Server

    /** Answers line after line until stdin ends. */
    void serve(PrintStream out) throws IOException {
        InputStream in = new BufferedInputStream(System.in);
        for (byte[] line; (line = line(in)) != null; ) {
            synchronized (work) {
                out.write(said(new String(line, StandardCharsets.UTF_8)));
                out.write('\n');
                out.flush();
            }
        }
    }

    private byte[] said(String line) throws IOException {
        try {
            return Codec.write(answer(line));
        } catch (Wrong | Fault problem) {
            return ("error " + problem.getMessage()).getBytes(StandardCharsets.UTF_8);
        }
    }

    /** A line without its end; null where stdin has ended. */
    private static byte[] line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int b = in.read();
        if (b < 0) {
            return null;
        }
        for (; b >= 0 && b != '\n'; b = in.read()) {
            line.write(b);
        }
        return line.toByteArray();
    }

    /** Waits for the answer to the line that is being worked on, and ends the process with 0. */
    void stop() {
        Thread last = new Thread(() -> {
            synchronized (work) {
                Runtime.getRuntime().halt(0);
            }
        });
        last.start();
        try {
            last.join(GRACE);
        } catch (InterruptedException nobodyDoes) { // the end, as after the wait
        }
        Runtime.getRuntime().halt(0);
    }
}
