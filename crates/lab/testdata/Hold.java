/** Keeps many small objects, collects garbage ten times, and waits until its input ends. */
public class Hold {
    static Object[] kept;

    public static void main(String[] words) throws Exception {
        Object[] last = null;
        for (int at = 0; at < 2_000_000; at++) {
            last = new Object[] {last, new byte[16]};
        }
        kept = last;
        for (int at = 0; at < 10; at++) {
            System.gc();
        }
        System.out.println("done");
        System.in.read();
    }
}
