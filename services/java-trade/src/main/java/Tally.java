import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;

/** What came of the requests and actions of a passage, on one thread. */
final class Tally {
    /** Into how many requests an action is cut: one for each call, or one. */
    enum Grain {
        FINE(Operation.values()),
        COARSE(
                Operation.LOGIN,
                Operation.LOGOUT,
                Operation.QUOTE,
                Operation.BUY,
                Operation.UPDATE,
                Operation.HOME,
                Operation.PORTFOLIO,
                Operation.SELL_FIRST,
                Operation.SWITCH_USER);

        /** What is told of a passage. */
        private final List<Operation> operations;

        Grain(Operation... operations) {
            this.operations = List.of(operations);
        }
    }

    /** A request. Of fine grain the last four are actions of several. */
    enum Operation {
        LOGIN,
        LOGOUT,
        ACCOUNT,
        HOLDINGS,
        QUOTE,
        BUY,
        SELL,
        UPDATE,
        REGISTER,
        HOME,
        PORTFOLIO,
        SELL_FIRST,
        SWITCH_USER;

        String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** What came of an operation. */
    private static final class Count {
        private long good;
        private long failed;
        /** Attempts behind the first. */
        private long retried;
        /** In ns, of those that were good. */
        private final LongStream.Builder times = LongStream.builder();
    }

    /** What is told of an operation: times are those of the good ones, rising. */
    record Told(
            long good,
            long failed,
            long retried,
            @com.fasterxml.jackson.annotation.JsonProperty("times_ns") long[] times) {
        private static Told of(List<Count> counts) {
            return new Told(
                    counts.stream().mapToLong(count -> count.good).sum(),
                    counts.stream().mapToLong(count -> count.failed).sum(),
                    counts.stream().mapToLong(count -> count.retried).sum(),
                    counts.stream()
                            .flatMapToLong(count -> count.times.build())
                            .sorted()
                            .toArray());
        }
    }

    private final List<Count> counts = new ArrayList<>();
    /** What the first failed request said. */
    private String problem;

    Tally() {
        for (int i = 0; i < Operation.values().length; i++) {
            counts.add(new Count());
        }
    }

    void good(Operation operation, long time, long retried) {
        Count count = counts.get(operation.ordinal());
        count.good++;
        count.retried += retried;
        count.times.add(time);
    }

    void failed(Operation operation, long retried) {
        Count count = counts.get(operation.ordinal());
        count.failed++;
        count.retried += retried;
    }

    /** Keeps what the first failed request said. */
    void tell(Operation operation, String user, Fault fault) {
        if (problem == null) {
            problem = operation.word() + " of " + user + ": " + fault.kind + ": " + fault.getMessage();
        }
    }

    /** Null where none failed. */
    String problem() {
        return problem;
    }

    /** What came of each operation of the grain on all threads. */
    static Map<String, Told> told(List<Tally> tallies, Grain grain) {
        Map<String, Told> told = new LinkedHashMap<>();
        for (Operation operation : grain.operations) {
            List<Count> counts = tallies.stream()
                    .map(tally -> tally.counts.get(operation.ordinal()))
                    .toList();
            told.put(operation.word(), Told.of(counts));
        }
        return told;
    }
}
