import java.util.ArrayList;
import java.util.List;

/** The script: sessions of users, and the steps of each. */
final class Script {
    private Script() {}

    /** A user's visit, from login to logout. */
    record Session(String user, String password, List<Step> steps) {}

    /** What a user does. */
    sealed interface Step permits Home, Portfolio, Quote, Buy, Sell, Update, Register {}

    record Home() implements Step {}

    record Portfolio() implements Step {}

    record Quote(String symbol) implements Step {}

    record Buy(Population.Lot lot) implements Step {}

    record Sell(Population.Lot lot) implements Step {}

    /** Of whoever is the session's user then. */
    record Update(Records.Fields fields) implements Step {}

    /** The session's user from then on. */
    record Register(Records.Registration fields) implements Step {}

    /** Reads `user password step …`, a tab between them. */
    static Session session(String line) throws Population.Damage {
        String[] columns = line.split("\t", -1);
        if (columns.length < 2) {
            throw new Population.Damage("it has no user and password with a tab between them");
        }
        List<Step> steps = new ArrayList<>();
        for (int i = 2; i < columns.length; i++) {
            // DaCapo's files have it, and its driver leaves it out.
            if (!columns[i].equals("a")) {
                steps.add(step(columns[i]));
            }
        }
        return new Session(Population.named(columns[0], "user"), columns[1], steps);
    }

    private static Step step(String text) throws Population.Damage {
        String rest = text.substring(Math.min(text.length(), 2));
        switch (text) {
            case "h":
                return new Home();
            case "p":
                return new Portfolio();
            default:
                break;
        }
        switch (text.length() > 1 && text.charAt(1) == ' ' ? text.charAt(0) : ' ') {
            case 'q':
                return new Quote(Population.named(rest, "symbol"));
            case 'b':
                return new Buy(Population.lot(rest));
            case 's':
                return new Sell(Population.lot(rest));
            case 'u':
                return new Update(update(rest));
            case 'r':
                return new Register(register(rest));
            default:
                throw new Population.Damage("\"" + text + "\" is no step; allowed: `h`, `p`, `a`, `q SYMBOL`, "
                        + "`b SYMBOL QUANTITY`, `s SYMBOL QUANTITY`, `u …`, `r …`");
        }
    }

    /** Reads `card|email|password|full-name|address`. */
    private static Records.Fields update(String text) throws Population.Damage {
        String[] fields = text.split("\\|", -1);
        if (fields.length != 5) {
            throw new Population.Damage("the update \"" + text + "\" has " + fields.length + " fields instead of 5");
        }
        return new Records.Fields(fields[3], fields[4], fields[1], fields[0], fields[2]);
    }

    /** Reads `user|balance|card|email|password|full-name|address`. */
    private static Records.Registration register(String text) throws Population.Damage {
        String[] fields = text.split("\\|", -1);
        if (fields.length != 7) {
            throw new Population.Damage(
                    "the registration \"" + text + "\" has " + fields.length + " fields instead of 7");
        }
        return new Records.Registration(
                Population.named(fields[0], "user"),
                fields[4],
                fields[5],
                fields[6],
                fields[3],
                fields[2],
                Population.dollars(fields[1]));
    }
}
