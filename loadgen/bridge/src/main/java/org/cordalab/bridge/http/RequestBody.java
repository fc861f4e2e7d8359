package org.cordalab.bridge.http;

import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.OptionalLong;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Reads a request body up to a limit. */
final class RequestBody {

    /**
     * Longest body that is still read and discarded, so that its sender can read the answer. Most clients send the
     * whole body before they read anything. If the connection were closed, they would see a reset instead of a 413.
     */
    static final long MAX_DISCARDED_BYTES = 64L * 1024 * 1024;

    private static final int DISCARD_BUFFER_BYTES = 16 * 1024;

    private RequestBody() {}

    /**
     * Reads the whole body.
     *
     * @throws Problem body-too-large; by then, the sender can read the answer
     */
    static byte[] read(ServerRequest request, ServerResponse response, int maxBytes) {
        OptionalLong length = request.headers().contentLength();
        if (length.orElse(0) > maxBytes) {
            if (request.headers().containsToken(HeaderValues.EXPECT_100)) {
                // The sender waits for permission to continue and does not get it. It may send the body anyway, so the
                // connection is closed.
                response.header(HeaderValues.CONNECTION_CLOSE);
            } else {
                discard(request.content().inputStream());
            }
            throw tooLarge(maxBytes);
        }
        if (length.isEmpty() && !request.headers().contains(HeaderNames.TRANSFER_ENCODING)) {
            return new byte[0];
        }
        InputStream content = request.content().inputStream();
        try {
            byte[] body = content.readNBytes(maxBytes);
            if (body.length == maxBytes && content.read() >= 0) {
                discard(content);
                throw tooLarge(maxBytes);
            }
            return body;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void discard(InputStream content) {
        byte[] buffer = new byte[DISCARD_BUFFER_BYTES];
        try {
            int read = 0;
            for (long total = 0; read >= 0 && total < MAX_DISCARDED_BYTES; total += read) {
                read = content.read(buffer);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Problem tooLarge(int maxBytes) {
        return new Problem(ProblemType.BODY_TOO_LARGE, "The body is longer than %d bytes.".formatted(maxBytes));
    }
}
