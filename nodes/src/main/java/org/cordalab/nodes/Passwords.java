package org.cordalab.nodes;

import com.typesafe.config.ConfigException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;

/**
 * The passwords of a lab. Each is generated when it is first needed and kept in a folder that only the bootstrapper
 * sees, unless the environment gives one.
 *
 * <p>A service that needs a password gets it as a file in a folder of its own: not in its environment, which {@code
 * docker inspect} shows, and not in a folder that another service sees.
 */
final class Passwords {
    /** The superuser of the database, which the health check and {@code lab run} use inside its container. */
    private static final String DATABASE_OWNER = "lab";

    private static final String DATABASE_READER = "exporter";

    private final Path kept;
    private final Map<String, String> environment;

    Passwords(Path authority, Map<String, String> environment) {
        kept = authority.resolve("passwords");
        this.environment = environment;
    }

    /** Returns the password of every node's RPC user. */
    String rpc() throws IOException {
        String given = given("RPC_PASSWORD");
        return given.isEmpty() ? kept("rpc", "") : given;
    }

    /**
     * Returns the password of a role of the database, which has it since the database was created.
     *
     * @throws ConfigException if the environment now gives another
     */
    String database(String role) throws IOException {
        String given = given("POSTGRES_PASSWORD");
        String password = kept("postgres-" + role, given);
        if (!given.isEmpty() && !given.equals(password)) {
            throw new ConfigException.Generic("POSTGRES_PASSWORD is not the password with which the database was"
                    + " created; restore or unset it, or delete the lab with `scripts/lab down --volumes`");
        }
        return password;
    }

    private String grafana() throws IOException {
        String given = given("GRAFANA_PASSWORD");
        return given.isEmpty() ? kept("grafana", "") : given;
    }

    /** Writes the files of the services that every lab has, each into its own folder of {@code secrets}. */
    void handOut(Path secrets) throws IOException {
        write(secrets.resolve("bridge/rpc-password"), rpc());
        write(secrets.resolve("jmeter/rpc-password"), rpc());
        write(secrets.resolve("grafana/admin-password"), grafana());
    }

    /**
     * Writes the files of the database and of its exporter.
     *
     * @param nodes the names of all nodes that the network can ever have: the database creates its roles only once
     */
    void handOutDatabase(Path secrets, List<String> nodes) throws IOException {
        Path database = secrets.resolve("postgres");
        write(database.resolve(DATABASE_OWNER), database(DATABASE_OWNER));
        write(database.resolve(DATABASE_READER), database(DATABASE_READER));
        for (String node : nodes) {
            write(database.resolve(node), database(node));
        }
        write(secrets.resolve("postgres-exporter/password"), database(DATABASE_READER));
    }

    private String given(String variable) {
        return environment.getOrDefault(variable, "");
    }

    private String kept(String name, String first) throws IOException {
        Path file = kept.resolve(name);
        if (!Files.exists(file)) {
            write(file, first.isEmpty() ? Authority.randomPassword() : first);
        }
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }

    private static void write(Path file, String content) throws IOException {
        Files.createDirectories(file.getParent());
        Path unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
        Files.write(unfinished, content.getBytes(StandardCharsets.UTF_8));
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
