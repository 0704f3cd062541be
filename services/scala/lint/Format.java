import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.scalafmt.Scalafmt;

/** scalafmt over files, since its program is not to be had here: {@code [--replace] CONFIGURATION FILE…}. */
final class Format {
    public static void main(String[] words) throws Exception {
        boolean replaces = words[0].equals("--replace");
        List<String> paths = Arrays.asList(words).subList(replaces ? 1 : 0, words.length);
        var style = Scalafmt.parseHoconConfigFile(Path.of(paths.get(0))).get();
        int wrong = 0;
        for (String path : paths.subList(1, paths.size())) {
            String text = Files.readString(Path.of(path));
            String right = Scalafmt.format(text, style, Scalafmt.format$default$3(), path).get();
            if (text.equals(right)) {
                continue;
            }
            wrong++;
            if (replaces) {
                Files.writeString(Path.of(path), right);
            } else {
                System.out.println(path);
            }
        }
        System.exit(replaces || wrong == 0 ? 0 : 1);
    }
}
