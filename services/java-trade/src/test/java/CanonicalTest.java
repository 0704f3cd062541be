import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is compared, and what is read. */
final class CanonicalTest {
    private static Records.Holding holding(long id, String symbol, long quantity) {
        return new Records.Holding(id, symbol, quantity, 5, id);
    }

    @Test
    void idsTimesAndOrderLeaveTheTextAsItIs() {
        var one = new Canonical().add(List.of(holding(1, "B", 1), holding(2, "A", 3), holding(3, "A", 2)));
        var other = new Canonical().add(List.of(holding(4, "A", 2), holding(5, "B", 1), holding(6, "A", 3)));
        assertEquals(one.toString(), other.toString());
        String text = "holdings\nholding\nsymbol=A\nquantity=2\nprice=5\nholding\n";
        assertTrue(one.toString().startsWith(text), one.toString());
    }

    /** Against the order of the bytes themselves. */
    @Test
    void textsAreOrderedByTheirBytes() {
        List<String> texts = List.of("", "A", "AB", "B", "z", "é", "漢", "\uE000", "\uFFFD", "🚲", "🚲a", "😀");
        for (String a : texts) {
            for (String b : texts) {
                int bytes =
                        Arrays.compareUnsigned(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
                assertEquals(Integer.signum(bytes), Integer.signum(Canonical.BY_BYTES.compare(a, b)), a + b);
            }
        }
    }

    @Test
    void aStockHasItsPriceAndVolumeInWholeNumbers() throws Exception {
        Records.Quote quote = Population.stock("A\tAGILENT TECH INC\t17.87\t6.13B");
        assertEquals(1787, quote.price());
        assertEquals(613_000_000_000L / 1787 / 1000, quote.volume());
        assertEquals(
                37_294_000_000L / 2000 / 1000,
                Population.stock("B\tb\t20\t372.94M").volume());
        assertEquals(2, Population.stock("B\tb\t0.5\t1000").volume());
        for (String line : List.of(
                "A\tx\t17.87",
                "A\tx\t-1.00\t1B",
                "A\tx\t0.00\t1B",
                "A\tx\t1.005\t1B",
                "A\tx\t1.00\t1T",
                "\tx\t1.00\t1B")) {
            assertThrows(Population.Damage.class, () -> Population.stock(line), line);
        }
    }

    @Test
    void damagedStepsSayWhatIsWrong() throws Exception {
        String whole = "000001\tpw\th\tp\ta\tq GM\tb GM 0\ts GM 7\tu c|e|p|f|a\tr 9|10|c|e|p|f|a";
        assertEquals(7, Script.session(whole).steps().size());
        for (String line : List.of(
                "000001",
                "\tpw",
                "1\tpw\t",
                "1\tpw\tx",
                "1\tpw\th 1",
                "1\tpw\tq ",
                "1\tpw\tb GM",
                "1\tpw\tu a|b",
                "1\tpw\tr 9|10",
                "1\tpw\tr 9|ten|c|e|p|f|a")) {
            assertThrows(Population.Damage.class, () -> Script.session(line), line);
        }
    }
}
