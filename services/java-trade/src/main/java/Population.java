import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The files in DATA, in DaCapo's form: what the database holds at first, and the script. */
record Population(List<Records.Quote> stocks, List<User> users, List<Script.Session> sessions) {
    /** A user of users.txt: who registered with these fields, and has never logged in. */
    record User(Records.Registration fields, List<Lot> holdings) {}

    /** So many shares. */
    record Lot(String symbol, long quantity) {}

    /** What is wrong with a file or a line of it. */
    @SuppressWarnings("serial")
    static final class Damage extends Exception {
        Damage(String message) {
            super(message);
        }
    }

    /** Reads what a line says. */
    private interface Parser<R> {
        R parse(String line) throws Damage;
    }

    /** Reads the three files of a folder. The exception tells file, line, and what is wrong there. */
    static Population read(Path folder) throws Damage {
        Set<String> symbols = new HashSet<>();
        List<Records.Quote> stocks = lines(folder, "stocks.txt", line -> {
            Records.Quote stock = stock(line);
            if (!symbols.add(stock.symbol())) {
                throw new Damage("the symbol is a stock's before");
            }
            return stock;
        });
        Set<String> names = new HashSet<>();
        List<User> users = lines(folder, "users.txt", line -> {
            User user = user(line);
            if (!names.add(user.fields.user())) {
                throw new Damage("the user is there before");
            }
            for (Lot lot : user.holdings) {
                if (!symbols.contains(lot.symbol)) {
                    throw new Damage("the symbol \"" + lot.symbol + "\" of a holding is no stock's in `stocks.txt`");
                }
            }
            return user;
        });
        return new Population(stocks, users, lines(folder, "workload.txt", Script::session));
    }

    /** The price of each stock, in cents. */
    Map<String, Long> prices() {
        Map<String, Long> prices = new HashMap<>();
        stocks.forEach(stock -> prices.put(stock.symbol(), stock.price()));
        return prices;
    }

    /** What each line of a file says. Lines that begin with `#` are comments. */
    private static <R> List<R> lines(Path folder, String file, Parser<R> parser) throws Damage {
        byte[] bytes = bytes(folder, file);
        List<R> parsed = new ArrayList<>();
        int number = 0;
        for (int from = 0, to; from < bytes.length; from = to + 1) {
            for (to = from; to < bytes.length && bytes[to] != '\n'; ) {
                to++;
            }
            number++;
            try {
                String line = StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(ByteBuffer.wrap(bytes, from, to - from))
                        .toString();
                if (!line.startsWith("#")) {
                    parsed.add(parser.parse(line));
                }
            } catch (CharacterCodingException e) {
                throw new Damage("`" + file + "`, line " + number + ": it is not UTF-8");
            } catch (Damage damage) {
                throw new Damage("`" + file + "`, line " + number + ": " + damage.getMessage());
            }
        }
        return parsed;
    }

    private static byte[] bytes(Path folder, String file) throws Damage {
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(folder.resolve(file));
        } catch (NoSuchFileException e) {
            throw new Damage("`" + file + "` is not there");
        } catch (IOException e) {
            throw new Damage("`" + file + "`: " + e.getMessage());
        }
        if (bytes.length == 0 || bytes.length == 1 && bytes[0] == '\n') {
            throw new Damage("`" + file + "` is empty");
        }
        return bytes;
    }

    // Lines

    private static String[] columns(String line, int number) throws Damage {
        String[] columns = line.split("\t", -1);
        if (columns.length != number) {
            throw new Damage("it has " + columns.length + " columns instead of " + number);
        }
        return columns;
    }

    /** Reads `symbol company price capitalisation`, a tab between them. */
    static Records.Quote stock(String line) throws Damage {
        String[] columns = columns(line, 4);
        long price = decimal(columns[2], 1);
        if (price <= 0) {
            throw new Damage("the price \"" + columns[2] + "\" is no number of dollars such as `17.87`");
        }
        long capitalisation = capitalised(columns[3]);
        if (capitalisation < 0) {
            throw new Damage(
                    "the capitalisation \"" + columns[3] + "\" is no number of dollars such as `6.13B`, `372.94M`");
        }
        String symbol = named(columns[0], "symbol");
        return new Records.Quote(symbol, columns[1], price, price, price, price, 0, capitalisation / price / 1000);
    }

    /** Reads `user balance card e-mail password full-name address holdings`, a tab between them. */
    static User user(String line) throws Damage {
        String[] columns = columns(line, 8);
        Records.Registration fields = new Records.Registration(
                named(columns[0], "user"),
                columns[4],
                columns[5],
                columns[6],
                columns[3],
                columns[2],
                dollars(columns[1]));
        List<Lot> holdings = new ArrayList<>();
        if (!columns[7].isEmpty()) {
            for (String text : columns[7].split(", ", -1)) {
                holdings.add(lot(text));
            }
        }
        return new User(fields, holdings);
    }

    /** A text that must not be empty. */
    static String named(String text, String what) throws Damage {
        if (text.isEmpty()) {
            throw new Damage("the " + what + " is empty");
        }
        return text;
    }

    /** Reads `symbol quantity`. */
    static Lot lot(String text) throws Damage {
        int space = text.indexOf(' ');
        long quantity = space < 0 ? -1 : whole(text.substring(space + 1), 1);
        if (quantity < 0) {
            throw new Damage("\"" + text + "\" is no symbol and quantity such as `GM 1498`");
        }
        return new Lot(named(text.substring(0, space), "symbol"), quantity);
    }

    /** Reads a balance in whole dollars, as cents. */
    static long dollars(String text) throws Damage {
        long cents = whole(text, 100);
        if (cents < 0) {
            throw new Damage("the balance \"" + text + "\" is no whole number of dollars");
        }
        return cents;
    }

    // Numbers; what is none is -1

    /** Digits only, times a factor. */
    private static long whole(String text, long factor) {
        try {
            return text.matches("\\d+") ? Math.multiplyExact(Long.parseLong(text), factor) : -1;
        } catch (ArithmeticException | NumberFormatException tooLarge) {
            return -1;
        }
    }

    /** A number with at most two digits behind the point, in hundredths, times a factor. */
    private static long decimal(String text, long factor) {
        if (!text.matches("\\d+(\\.\\d\\d?)?")) {
            return -1;
        }
        int point = text.indexOf('.');
        String digits = point < 0
                ? text + "00"
                : text.substring(0, point) + text.substring(point + 1) + "0".repeat(3 - (text.length() - point));
        return whole(digits, factor);
    }

    /** `6.13B` dollars, as cents. */
    private static long capitalised(String text) {
        String number = text.replaceFirst("[KMB]$", "");
        long factor =
                switch (text.substring(number.length())) {
                    case "K" -> 1_000;
                    case "M" -> 1_000_000;
                    case "B" -> 1_000_000_000;
                    default -> 1;
                };
        return decimal(number, factor);
    }
}
