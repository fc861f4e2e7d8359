package org.cordalab.bridge.http;

import io.helidon.common.buffers.DataReader;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.RequestException;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.http.ServerRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.OptionalLong;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Reads a request body up to a limit, and throws away what was not read. */
final class RequestBody {

    /**
     * Longest body that is thrown away, so that its sender can read the answer. Most clients send the whole body before
     * they read anything. If the connection were closed, they would see a reset instead of a 413.
     */
    static final long MAX_DISCARDED_BYTES = 64L * 1024 * 1024;

    private static final int BUFFER_BYTES = 8 * 1024;

    private final ServerRequest request;
    private final ClientConnection connection;
    private InputStream content;
    private boolean broken;

    RequestBody(ServerRequest request, ClientConnection connection) {
        this.request = request;
        this.connection = connection;
    }

    /**
     * Reads the whole body. Memory is reserved for it as it grows, at once if its length is known.
     *
     * @throws Problem body-too-large, overloaded, invalid-request if it ends early
     */
    byte[] read(int maxBytes) throws InterruptedException {
        OptionalLong length = request.headers().contentLength();
        if (length.orElse(0) > maxBytes) {
            throw tooLarge(maxBytes);
        }
        if (length.isEmpty() && !request.headers().contains(HeaderNames.TRANSFER_ENCODING)) {
            return new byte[0];
        }
        connection.bodyBegins(length.orElse(0), maxBytes);
        content = request.content().inputStream();
        // If it cannot be read to its end, no one knows where in a chunk it is.
        broken = length.isEmpty();
        try {
            byte[] body = length.isPresent() ? known((int) length.getAsLong()) : growing(maxBytes);
            connection.workBegins();
            broken = false;
            return body;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (DataReader.InsufficientDataAvailableException | DataReader.IncorrectNewLineException e) {
            broken = true;
            throw new Problem(ProblemType.INVALID_REQUEST, "The body ends early, or its chunks are not valid.");
        }
    }

    private byte[] known(int length) throws IOException {
        byte[] body = content.readNBytes(length);
        // The end must be read too, for Helidon to know of it.
        content.read();
        return body;
    }

    private byte[] growing(int maxBytes) throws IOException {
        byte[] body = new byte[Math.min(BUFFER_BYTES, maxBytes + 1)];
        int read = 0;
        for (int more = 0; more >= 0; more = content.read(body, read, body.length - read)) {
            read += more;
            if (read > maxBytes) {
                // What has arrived is whole, so the rest can be thrown away.
                broken = false;
                throw tooLarge(maxBytes);
            }
            if (read == body.length) {
                body = Arrays.copyOf(body, Math.min(2 * read, maxBytes + 1));
            }
        }
        return Arrays.copyOf(body, read);
    }

    /**
     * Returns whether the next request cannot be found on the connection: the sender waits for permission to send the
     * body, and does not get it, or the body could not be read.
     */
    boolean endsConnection() {
        return broken || content == null && request.headers().containsToken(HeaderValues.EXPECT_100);
    }

    /** Throws away what was not read of the body. */
    void discardRest() {
        if (request.content().consumed()) {
            return;
        }
        connection.discardBegins();
        if (content == null) {
            content = request.content().inputStream();
        }
        byte[] buffer = new byte[BUFFER_BYTES];
        try {
            do {
                connection.pieceDiscarded();
            } while (content.read(buffer) >= 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (DataReader.InsufficientDataAvailableException
                | DataReader.IncorrectNewLineException
                | RequestException e) {
            // The answer has been sent, and nothing can follow it.
            throw new CloseConnectionException("The rest of the body does not come, or is not valid", e);
        }
    }

    private static Problem tooLarge(int maxBytes) {
        return new Problem(ProblemType.BODY_TOO_LARGE, "The body is longer than %d bytes.".formatted(maxBytes));
    }
}
