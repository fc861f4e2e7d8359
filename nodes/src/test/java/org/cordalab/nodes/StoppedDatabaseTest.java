package org.cordalab.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.h2.store.fs.FileBase;
import org.h2.store.fs.FilePath;
import org.h2.store.fs.FilePathWrapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that a node can be killed at any moment of its last flows and of its stop. Records what H2 writes from then on to
 * its closed file, and opens the file as it was after each write.
 */
class StoppedDatabaseTest {
    private static final Path SETTINGS = Paths.get("..", "configs", "databases", "h2.conf");
    private static final Pattern OPTIONS = Pattern.compile("\"jdbc:h2:file:[^;\"]+(;[^\"]+)\"");
    private static final int FLOWS_BEFORE = 150;
    private static final int FLOWS = 5;
    private static final int CHECKPOINTS = 4;
    private static final byte[] BYTES = new byte[4000];

    @TempDir
    Path directory;

    @Test
    void everyStateOfTheFileCanBeOpenedAndHasEveryAcknowledgedTransaction() throws Exception {
        FilePath.register(new RecordedPath());
        Path ledger = directory.resolve("ledger.mv.db");
        Connection connection = open("recorded:" + directory.resolve("ledger"));
        makeTables(connection);
        run(connection, 0, FLOWS_BEFORE);
        Path state = directory.resolve("state.mv.db");
        Files.copy(ledger, state);
        RecordedPath.CHANGES.clear();
        run(connection, FLOWS_BEFORE, FLOWS);
        int load = RecordedPath.CHANGES.size();
        connection.close();

        try (FileChannel channel = FileChannel.open(state, StandardOpenOption.WRITE)) {
            for (Change change : RecordedPath.CHANGES) {
                change.apply(channel);
                Files.copy(state, directory.resolve("opened.mv.db"), StandardCopyOption.REPLACE_EXISTING);
                try (Connection again = open("file:" + directory.resolve("opened"))) {
                    assertThat(transactions(again)).isGreaterThanOrEqualTo(change.acknowledged);
                }
            }
        }
        List<Change> stop = RecordedPath.CHANGES.subList(load, RecordedPath.CHANGES.size());
        assertThat(stop.stream().mapToLong(Change::length).sum())
                .as("bytes that a stop writes: a commit, and not the ledger")
                .isLessThan(Files.size(state) / 20);
    }

    private static void makeTables(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table node_checkpoints (id int primary key, bytes blob)");
            statement.execute("create table node_transactions (id int primary key, bytes blob)");
        }
    }

    private static Connection open(String place) throws IOException, SQLException {
        Matcher options = OPTIONS.matcher(new String(Files.readAllBytes(SETTINGS)));
        assertThat(options.find()).isTrue();
        return DriverManager.getConnection("jdbc:h2:" + place + options.group(1), "sa", "");
    }

    /** Writes what flows write: checkpoints that are replaced and deleted, and a transaction that stays. */
    private static void run(Connection connection, int first, int count) throws SQLException {
        Random random = new Random(first);
        try (PreparedStatement write = connection.prepareStatement("merge into node_checkpoints values (?, ?)");
                PreparedStatement delete = connection.prepareStatement("delete from node_checkpoints where id = ?");
                PreparedStatement record = connection.prepareStatement("insert into node_transactions values (?, ?)")) {
            for (int flow = first; flow < first + count; flow++) {
                random.nextBytes(BYTES);
                for (int checkpoint = 0; checkpoint < CHECKPOINTS; checkpoint++) {
                    write.setInt(1, flow);
                    write.setBytes(2, BYTES);
                    write.execute();
                }
                record.setInt(1, flow);
                record.setBytes(2, BYTES);
                record.execute();
                RecordedPath.acknowledged = flow + 1;
                delete.setInt(1, flow);
                delete.execute();
            }
        }
    }

    private static int transactions(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("select count(bytes) from node_transactions")) {
            result.next();
            return result.getInt(1);
        }
    }

    /** A write, or with no bytes a truncation. */
    private static final class Change {
        final int acknowledged = RecordedPath.acknowledged;
        private final long position;
        private final byte[] bytes;

        Change(long position, byte[] bytes) {
            this.position = position;
            this.bytes = bytes;
        }

        int length() {
            return bytes.length;
        }

        void apply(FileChannel channel) throws IOException {
            if (bytes.length == 0) {
                channel.truncate(position);
            } else {
                channel.write(ByteBuffer.wrap(bytes), position);
            }
        }
    }

    /** H2's own files, whose changes are recorded. H2 makes instances of it. */
    public static final class RecordedPath extends FilePathWrapper {
        static final List<Change> CHANGES = new ArrayList<>();
        static int acknowledged;

        @Override
        public String getScheme() {
            return "recorded";
        }

        @Override
        public FileChannel open(String mode) throws IOException {
            return new RecordedChannel(getBase().open(mode));
        }
    }

    private static final class RecordedChannel extends FileBase {
        private final FileChannel channel;

        RecordedChannel(FileChannel channel) {
            this.channel = channel;
        }

        @Override
        public int write(ByteBuffer source, long position) throws IOException {
            byte[] bytes = new byte[source.remaining()];
            source.duplicate().get(bytes);
            RecordedPath.CHANGES.add(new Change(position, bytes));
            return channel.write(source, position);
        }

        @Override
        public FileChannel truncate(long length) throws IOException {
            RecordedPath.CHANGES.add(new Change(length, new byte[0]));
            channel.truncate(length);
            return this;
        }

        @Override
        public int write(ByteBuffer source) {
            throw new UnsupportedOperationException("H2 writes at positions");
        }

        @Override
        public int read(ByteBuffer target) throws IOException {
            return channel.read(target);
        }

        @Override
        public int read(ByteBuffer target, long position) throws IOException {
            return channel.read(target, position);
        }

        @Override
        public long position() throws IOException {
            return channel.position();
        }

        @Override
        public FileChannel position(long position) throws IOException {
            channel.position(position);
            return this;
        }

        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public void force(boolean metaData) throws IOException {
            channel.force(metaData);
        }

        @Override
        public FileLock tryLock(long position, long size, boolean shared) throws IOException {
            return channel.tryLock(position, size, shared);
        }

        @Override
        public void implCloseChannel() throws IOException {
            channel.close();
        }
    }
}
