import com.zaxxer.hikari.HikariConfig;
import java.nio.file.Path;
import java.util.List;

/** The brokerage in H2: in memory, or in a file. */
final class EngineH2 extends Database {
    /** Closing is the end of the process, which takes memory and folder with it. Each connection keeps its statements. */
    private static final String SETTINGS = ";DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE;QUERY_CACHE_SIZE=64";

    private final String place;

    private EngineH2(String place) {
        this.place = place;
    }

    static EngineH2 inMemory() {
        return new EngineH2("mem:trade");
    }

    static EngineH2 inFolder(Path folder) {
        // A semicolon would begin the settings.
        return new EngineH2(
                "file:" + folder.toAbsolutePath().resolve("trade").toString().replace(";", "\\;"));
    }

    @Override
    HikariConfig pool() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:" + place + SETTINGS);
        return config;
    }

    @Override
    List<String> schema() {
        return tables("VARCHAR");
    }

    @Override
    List<String> restored() {
        return List.of(
                "TRUNCATE TABLE stock",
                "TRUNCATE TABLE profile",
                "TRUNCATE TABLE account",
                "TRUNCATE TABLE holding",
                "TRUNCATE TABLE orders RESTART IDENTITY");
    }

    @Override
    List<String> locking(String select, String touch) {
        return List.of(select + " FOR UPDATE");
    }

    @Override
    String changed(String change, String columns) {
        return "SELECT " + columns + " FROM FINAL TABLE (" + change + ")";
    }

    @Override
    String removed(String removal, String columns) {
        return "SELECT " + columns + " FROM OLD TABLE (" + removal + ")";
    }
}
