package org.cordalab.nodes.traces;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file of spans, of bounded size, which may be emptied at any time: a line for each batch, as the collector of OpenTelemetry writes and reads them. */
final class SpanFile implements SpanSink {
    static final long BYTES_MAX = 1024L * 1024 * 1024;

    private final Path file;
    private final long bytesMax;
    private FileChannel out;

    SpanFile(Path file) {
        this(file, BYTES_MAX);
    }

    SpanFile(Path file, long bytesMax) {
        this.file = file;
        this.bytesMax = bytesMax;
    }

    @Override
    public void write(byte[] request) throws IOException {
        boolean isFirst = out == null;
        if (isFirst) {
            out = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
        long bytes = out.size();
        if (bytes + request.length + 2 > bytesMax) {
            throw new IOException(file + " is full");
        }
        // At once, so that a process that is killed leaves at most one line that is not whole. The next process ends
        // it.
        ByteBuffer line = ByteBuffer.allocate(request.length + 2);
        if (isFirst && bytes > 0) {
            line.put((byte) '\n');
        }
        line.put(request).put((byte) '\n').flip();
        while (line.hasRemaining()) {
            out.write(line);
        }
    }
}
