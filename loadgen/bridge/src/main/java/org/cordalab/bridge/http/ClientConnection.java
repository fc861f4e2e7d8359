package org.cordalab.bridge.http;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import io.helidon.http.DirectHandler;
import io.helidon.http.RequestException;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.ConnectionContext;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.cordalab.bridge.config.HttpLimits;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * One client's connection: what it is doing, and until when it must have done it.
 *
 * <p>All methods but {@link #closeIfLate} are called by the connection's own thread. Whatever the client sends passes
 * through {@link #reader}, because Helidon itself sets no time limits, and keeps a whole chunk of a body before it hands
 * it on.
 */
final class ClientConnection {

    /** Longest request line and headers, in bytes as they are counted here. */
    private static final int MAX_HEAD_BYTES = 16 * 1024;
    /** What a piece of data takes in addition to its bytes. Clients decide how small the pieces are. */
    private static final int PIECE_BYTES = 64;
    /** What each connection may keep of a body that no one reads. */
    private static final int DISCARD_BYTES = 16 * 1024;

    /** Time limit of the headers beyond the limit of connections. These connections are few, and for health checks. */
    private static final Duration SPARE_HEAD_TIMEOUT = Duration.ofSeconds(1);
    /** After this time, a late connection is closed even if its client does not take the answer that says so. */
    private static final Duration FAREWELL_LIMIT = Duration.ofSeconds(1);

    /** Longest time to wait for the memory of a body. Conversions of other bodies take it for milliseconds. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    /** The part of the time for a body that a body may take for which others wait, plus a second for each MiB. */
    private static final int PACE_PART = 6;

    private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

    private enum Phase {
        /** Nothing of a request has arrived. */
        IDLE,
        HEAD,
        BODY,
        /** The bridge is at work, and limits the time itself. */
        WORK,
        ANSWER,
        /** The rest of a body is read and thrown away. */
        DISCARD
    }

    private final ConnectionContext context;
    private final HttpLimits limits;
    private final boolean spare;
    private final DataReader reader;

    private final ReentrantLock lock = new ReentrantLock();
    private volatile Thread thread;
    private volatile Phase phase = Phase.HEAD;
    private volatile long until;
    private volatile boolean late;

    private MemoryBudget.Reservation memory;
    private long counted;
    private long countedMax;
    /** Whether others wait until the body has been read. */
    private boolean paced;

    private long bodySince;
    private long bodyUntil;
    /** Bytes of the body. */
    private long arrived;

    /**
     * @param spare whether it is beyond the limit of connections
     */
    ClientConnection(ConnectionContext context, HttpLimits limits, boolean spare) {
        this.context = context;
        this.limits = limits;
        this.spare = spare;
        this.until = System.nanoTime() + headTimeout().toNanos();
        this.reader = DataReader.create(this::next);
    }

    /** Returns the reader from which Helidon reads the requests. */
    DataReader reader() {
        return reader;
    }

    /** Returns whether this connection is beyond the limit of connections. */
    boolean isSpare() {
        return spare;
    }

    /** Returns whether the headers of a request are still being read. Whatever is wrong then is the client's mistake. */
    boolean isReadingHead() {
        return phase == Phase.HEAD || phase == Phase.IDLE;
    }

    /** Declares the current thread to be the connection's. */
    void begin() {
        thread = Thread.currentThread();
    }

    /** Declares that the headers of a request have been read. */
    void headEnds(MemoryBudget.Reservation requestMemory) {
        memory = requestMemory;
        enter(Phase.WORK, Duration.ZERO);
    }

    /** Declares that others wait until the next body has been read, so that it has to come at a steady pace. */
    void paceBody() {
        paced = true;
    }

    /**
     * Declares that a body is being read.
     *
     * @param bytes length of the body, if it is known, else zero
     * @param bytesMax length of the longest body
     */
    void bodyBegins(long bytes, long bytesMax) throws InterruptedException {
        memory.growTo(bytes, PATIENCE);
        counted = 0;
        // Of a known length, no more is read. Otherwise, the sizes of chunks and the pieces count too.
        countedMax = bytes > 0 ? Long.MAX_VALUE : 8 * bytesMax + MAX_HEAD_BYTES;
        enter(Phase.BODY, limits.bodyTimeout().plusSeconds(bytes >> 20));
        bodySince = System.nanoTime();
        bodyUntil = until;
        arrived = 0;
        keepPace();
    }

    /** Lets a body for which others wait arrive a second later for each MiB of it that has arrived. */
    private void keepPace() {
        if (!paced) {
            return;
        }
        long allowed = limits.bodyTimeout().toNanos() / PACE_PART + (arrived * SECOND_NANOS >> 20);
        lock.lock();
        try {
            if (!late) {
                until = Math.min(bodySince + allowed, bodyUntil);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Declares that the bridge is at work. */
    void workBegins() {
        paced = false;
        enter(Phase.WORK, Duration.ZERO);
    }

    /** Declares that an answer is being sent. */
    void answerBegins() {
        enter(Phase.ANSWER, limits.answerTimeout());
    }

    /** Declares that the rest of a body is being thrown away. */
    void discardBegins() {
        enter(Phase.DISCARD, limits.bodyTimeout());
    }

    /** Declares that nothing of a body is kept. */
    void pieceDiscarded() {
        counted = 0;
    }

    /** Declares that the request has been answered. */
    void requestEnds() {
        memory = null;
        paced = false;
        enter(Phase.IDLE, limits.idleTimeout());
    }

    private Duration headTimeout() {
        return spare ? SPARE_HEAD_TIMEOUT : limits.headTimeout();
    }

    private void enter(Phase next, Duration limit) {
        lock.lock();
        try {
            if (late) {
                throw new CloseConnectionException("The client was too slow");
            }
            phase = next;
            until = System.nanoTime() + limit.toNanos();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the next data, or null at the end. */
    private byte[] next() {
        byte[] data;
        try {
            data = context.dataReader().readBuffer().readBytes();
        } catch (DataReader.InsufficientDataAvailableException e) {
            return null;
        }
        if (phase == Phase.IDLE) {
            counted = 0;
            enter(Phase.HEAD, headTimeout());
        }
        counted += data.length + PIECE_BYTES;
        switch (phase) {
            case HEAD -> checkHead();
            case BODY -> {
                checkBody();
                arrived += data.length;
                keepPace();
            }
            case DISCARD -> checkDiscarded();
            default -> {
                // Helidon reads nothing meanwhile.
            }
        }
        return data;
    }

    private void checkHead() {
        if (counted > MAX_HEAD_BYTES) {
            throw RequestException.builder()
                    .type(DirectHandler.EventType.BAD_REQUEST)
                    .status(Status.BAD_REQUEST_400)
                    .message("The headers are longer than %d bytes, or in too many pieces.".formatted(MAX_HEAD_BYTES))
                    .build();
        }
    }

    private void checkBody() {
        if (counted > countedMax) {
            throw new Problem(ProblemType.BODY_TOO_LARGE, "The body is too long, or in too many pieces.");
        }
        if (countedMax < Long.MAX_VALUE) {
            memory.growTo(counted);
        }
    }

    private void checkDiscarded() {
        if (counted > DISCARD_BYTES) {
            try {
                memory.growTo(counted);
            } catch (Problem overloaded) {
                throw new CloseConnectionException("A chunk of a body that no one reads is too long");
            }
        }
    }

    /** Closes the connection if its client has taken too long. Called by another thread, and does not block. */
    void closeIfLate(long now) {
        if (thread == null || phase == Phase.WORK || now - until < 0) {
            return;
        }
        if (late) {
            thread.interrupt();
        } else {
            // Sending may block.
            Thread.ofVirtual().start(this::sayFarewell);
        }
    }

    private void sayFarewell() {
        lock.lock();
        try {
            // The client may have been in time after all.
            if (late || phase == Phase.WORK || System.nanoTime() - until < 0) {
                return;
            }
            late = true;
            until = System.nanoTime() + FAREWELL_LIMIT.toNanos();
            if (phase == Phase.HEAD && counted > 0 || phase == Phase.BODY) {
                context.dataWriter().writeNow(BufferData.create(farewell()));
            }
        } finally {
            // The thread is waiting for this client. An interrupt closes the connection.
            if (late) {
                thread.interrupt();
            }
            lock.unlock();
        }
    }

    private byte[] farewell() {
        var problem = new Problem(
                ProblemType.REQUEST_TIMEOUT,
                phase == Phase.BODY
                        ? "The body did not arrive in time. Nothing was started."
                        : "The headers did not arrive in time.");
        byte[] body = Json.write(problem.toJson(""));
        String head =
                "HTTP/1.1 %d Request Timeout\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                        .formatted(problem.type().status(), Problem.MEDIA_TYPE, body.length);
        return (head + new String(body, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
    }
}
