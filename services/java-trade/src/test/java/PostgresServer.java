import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A server of PostgreSQL with a private socket and a port, as a user without privileges. */
final class PostgresServer implements AutoCloseable {
    private final Path folder;
    private final int port;
    private final Process process;

    private PostgresServer(Path folder, int port, Process process) {
        this.folder = folder;
        this.port = port;
        this.process = process;
    }

    /** Null, said on stderr, where PostgreSQL is not installed. */
    static PostgresServer start() throws Exception {
        File[] versions = new File("/usr/lib/postgresql").listFiles();
        if (versions == null || versions.length == 0) {
            System.err.println("SKIPPED: PostgreSQL, since there is no `initdb` (Debian: apt-get install postgresql)");
            return null;
        }
        String programs = versions[versions.length - 1] + "/bin/";
        Path folder = Files.createTempDirectory("postgres");
        List<String> user = new ArrayList<>();
        if (System.getProperty("user.name").equals("root")) {
            // It refuses to be root.
            user.addAll(List.of("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"));
            run(List.of("chown", "postgres:postgres", folder.toString()), folder);
        }
        List<String> initdb = new ArrayList<>(user);
        initdb.addAll(List.of(programs + "initdb", "-D", folder + "/data", "-A", "trust", "-U", "trade", "-E", "UTF8"));
        initdb.addAll(List.of("--locale=C", "--no-sync"));
        run(initdb, folder);
        int port;
        try (var socket = new java.net.ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        List<String> server = new ArrayList<>(user);
        server.addAll(List.of(programs + "postgres", "-D", folder + "/data"));
        for (String setting : List.of(
                "listen_addresses=127.0.0.1",
                "port=" + port,
                "fsync=off",
                "deadlock_timeout=500ms",
                "unix_socket_directories=" + folder)) {
            server.addAll(List.of("-c", setting));
        }
        Process process = quiet(server, folder).start();
        PostgresServer started = new PostgresServer(folder, port, process);
        for (int i = 0; ; i++) {
            try {
                started.connect().close();
                return started;
            } catch (SQLException e) {
                if (i == 600) {
                    throw e;
                }
                Thread.sleep(50);
            }
        }
    }

    private static ProcessBuilder quiet(List<String> command, Path folder) {
        return new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
    }

    private static void run(List<String> command, Path folder) throws IOException, InterruptedException {
        if (quiet(command, folder).start().waitFor() != 0) {
            throw new IOException(command + " failed");
        }
    }

    /** A connection in the service's schema. */
    Connection connect() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/postgres?currentSchema=trade&sslmode=disable", "trade", "");
    }

    String overSocket() {
        return "postgres:host=" + folder + " port=" + port + " user=trade dbname=postgres";
    }

    String overTcp() {
        return "postgres:host=127.0.0.1 port=" + port + " user=trade dbname='postgres'";
    }

    @Override
    public void close() throws IOException {
        try {
            // A fast shutdown, which waits for no client.
            run(List.of("kill", "-INT", String.valueOf(process.pid())), folder);
            process.waitFor();
            run(List.of("rm", "-rf", folder.toString()), folder.getParent());
        } catch (InterruptedException nobodyDoes) {
            throw new IOException(nobodyDoes);
        }
    }
}
