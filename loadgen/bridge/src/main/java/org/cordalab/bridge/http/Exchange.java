package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.JsonNode;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.ResultSummary;

/** One request and its response, with the memory that they take. */
final class Exchange implements AutoCloseable {

    private static final String JSON_MEDIA_TYPE = "application/json";
    private static final Set<String> HEALTH = Set.of("/health/live", "/health/ready");

    /** Longest answer without a reservation. Nearly all are shorter. */
    private static final int SHORT_ANSWER_BYTES = 16 * 1024;
    /** Longest result with which an answer is short. A byte of text takes up to six in JSON. */
    private static final int TINY_RESULT_BYTES = SHORT_ANSWER_BYTES / 8;
    /** Longest time to wait for memory in which to convert a body, which takes milliseconds. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final ServerRequest request;
    private final ServerResponse response;
    private final ClientConnection connection;
    private final MemoryBudget.Reservation memory;
    private final RequestBody body;
    private final long receivedAt = System.nanoTime();
    private final Instant arrivedAt = Instant.now();
    private CompletableFuture<?> needed = CompletableFuture.completedFuture(null);
    private boolean answerMayBeLong;

    Exchange(ServerRequest request, ServerResponse response, ClientConnection connection, MemoryBudget budget) {
        this.request = request;
        this.response = response;
        this.connection = connection;
        this.memory = budget.reserve();
        this.body = new RequestBody(request, connection);
        connection.headEnds(memory);
    }

    /** Returns the time since the request arrived, in nanoseconds. */
    long ageNanos() {
        return System.nanoTime() - receivedAt;
    }

    /** Returns when the request arrived. */
    Instant arrivedAt() {
        return arrivedAt;
    }

    /**
     * Returns whether this only asks whether the bridge lives or is ready, which everyone may at any time.
     *
     * <p>The path must be that to the letter. Routes match what is left of a path when its dots are resolved, so
     * {@code /health/../v1/nodes} is another route.
     */
    boolean isHealthCheck() {
        return HEALTH.contains(request.path().rawPath());
    }

    /** Returns whether the connection is beyond the limit of connections. */
    boolean isOnSpareConnection() {
        return connection.isSpare();
    }

    /**
     * Checks that the path and the query can be decoded, which Helidon does only when they are asked for.
     *
     * @throws Problem invalid-request
     */
    void requireDecodable() {
        try {
            request.path().path();
            request.query().toMap();
        } catch (IllegalArgumentException e) {
            throw new Problem(ProblemType.INVALID_REQUEST, "The path or the query is not valid: " + e.getMessage());
        }
    }

    /**
     * Checks that the query has only these parameters, each once.
     *
     * @throws Problem invalid-request that names the first other parameter
     */
    void requireParameters(Set<String> known) {
        request.query().toMap().forEach((name, values) -> {
            if (!known.contains(name)) {
                String has = known.isEmpty() ? "has none" : "has " + String.join(", ", known);
                throw new Problem(
                                ProblemType.INVALID_REQUEST,
                                "There is no query parameter %s; this request %s.".formatted(name, has))
                        .field(name);
            }
            if (values.size() > 1) {
                throw new Problem(
                                ProblemType.INVALID_REQUEST,
                                "The query parameter %s must be given once.".formatted(name))
                        .field(name);
            }
        });
    }

    /** Returns a path parameter by its name in the route. */
    String path(String name) {
        return request.path().pathParameters().get(name);
    }

    /**
     * Returns a query parameter.
     *
     * @throws Problem invalid-request if it is missing
     */
    String query(String name) {
        String value = request.query().first(name).orElse("");
        if (value.isBlank()) {
            throw new Problem(ProblemType.INVALID_REQUEST, "The query parameter %s is missing.".formatted(name))
                    .field(name);
        }
        return value;
    }

    /**
     * Returns a boolean query parameter; false if it is missing.
     *
     * @throws Problem invalid-request if it is neither true nor false
     */
    boolean flag(String name) {
        String value = request.query().first(name).orElse("false");
        if (!value.equals("true") && !value.equals("false")) {
            throw new Problem(
                            ProblemType.INVALID_REQUEST,
                            "The query parameter %s must be true or false.".formatted(name))
                    .field(name);
        }
        return value.equals("true");
    }

    /**
     * Returns a query parameter that is a whole number from 1 to a maximum; the default if it is missing.
     *
     * @throws Problem invalid-request if it is anything else
     */
    int number(String name, int standard, int most) {
        String value = request.query().first(name).orElse(Integer.toString(standard));
        try {
            int number = Integer.parseInt(value);
            if (number >= 1 && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Falls through to the same message, which gives the valid range.
        }
        throw new Problem(
                        ProblemType.INVALID_REQUEST,
                        "The query parameter %s must be a whole number from 1 to %d.".formatted(name, most))
                .field(name);
    }

    /** Returns the method in capital letters. */
    String method() {
        return request.prologue().method().text();
    }

    Optional<String> header(HeaderName name) {
        return request.headers().first(name);
    }

    /**
     * Reads the body, whose Content-Type must be that of JSON.
     *
     * <p>While it is converted, a value takes many times its characters. Afterwards, memory stays reserved for what is
     * left, until the request has been answered, see also {@link #keepUntil}.
     *
     * @throws Problem unsupported-media-type, body-too-large, overloaded, malformed-json
     */
    JsonNode json(int maxBytes) throws InterruptedException {
        byte[] bytes = bytes(JSON_MEDIA_TYPE, maxBytes);
        memory.growTo(Json.readingBytes(bytes.length), PATIENCE);
        long left = 0;
        try {
            JsonNode json = Json.read(bytes);
            left = Json.bytes(json, bytes.length);
            return json;
        } finally {
            memory.shrinkTo(left);
        }
    }

    /** Keeps the memory of the body reserved even after the answer, until something that needs the body has ended. */
    void keepUntil(CompletableFuture<?> ended) {
        // Without its value, which may be a result for which there is no memory.
        needed = ended.thenRun(() -> {});
    }

    /**
     * Reserves memory for the result of a flow, until the answer has ended, in whatever way. More than the whole budget
     * counts as the whole.
     *
     * @param bytes about how much memory the result takes; a short one is not reserved
     * @param noRoom the problem if the bytes are not free
     */
    void reserveResult(long bytes, Supplier<Problem> noRoom) {
        answerMayBeLong = bytes > TINY_RESULT_BYTES;
        if (bytes > ResultSummary.SHORT_BYTES && !memory.tryGrowTo(bytes)) {
            throw noRoom.get();
        }
    }

    /** Declares that others wait until the body has been read. If it does not come at a steady pace, it is refused. */
    void paceBody() {
        connection.paceBody();
    }

    /**
     * Reads the body, whose Content-Type must be the given media type. This rejects the types that a web page may send
     * without a preflight request.
     *
     * @throws Problem unsupported-media-type, body-too-large, overloaded
     */
    byte[] bytes(String mediaType, int maxBytes) throws InterruptedException {
        String given = header(HeaderNames.CONTENT_TYPE).orElse("");
        if (!given.split(";", 2)[0].strip().equalsIgnoreCase(mediaType)) {
            throw new Problem(
                            ProblemType.UNSUPPORTED_MEDIA_TYPE,
                            "The Content-Type must be %s, but %s."
                                    .formatted(mediaType, given.isEmpty() ? "is missing" : "is " + given))
                    .field("Content-Type");
        }
        return body.read(maxBytes);
    }

    void send(int status, JsonNode json) {
        send(status, JSON_MEDIA_TYPE, Json.write(json));
    }

    /** Sends the answer of a completed flow. If its result may be long, there is no copy of it in memory. */
    void sendResult(JsonNode json) {
        if (answerMayBeLong) {
            stream(JSON_MEDIA_TYPE, out -> Json.write(json, out));
        } else {
            send(Status.OK_200.code(), json);
        }
    }

    /**
     * Sends an answer.
     *
     * @throws Problem overloaded, if it is long and there is no memory for it
     */
    void send(int status, String contentType, byte[] content) {
        if (content.length > SHORT_ANSWER_BYTES) {
            memory.growTo(content.length);
        }
        begin(status, contentType);
        response.send(content);
    }

    private void begin(int status, String contentType) {
        connection.answerBegins();
        response.status(Status.create(status));
        response.header(HeaderNames.CONTENT_TYPE, contentType);
    }

    /** Sends a body of any length, which is not held in memory. */
    void stream(String contentType, Content content) {
        begin(Status.OK_200.code(), contentType);
        try (var out = new BufferedOutputStream(response.outputStream())) {
            content.write(out);
        } catch (IOException e) {
            throw new CloseConnectionException("The client does not take the answer", e);
        }
    }

    /** Writes a body. */
    @FunctionalInterface
    interface Content {
        void write(OutputStream out) throws IOException;
    }

    void send(Problem problem) {
        if (body.endsConnection()) {
            endConnection();
        }
        problem.retryAfter()
                .ifPresent(delay -> response.header(HeaderNames.RETRY_AFTER, Long.toString(delay.toSeconds())));
        send(
                problem.type().status(),
                Problem.MEDIA_TYPE,
                Json.write(problem.toJson(request.path().rawPath())));
    }

    /** Sets the Allow header, which a 405 response must have. */
    void allow(String methods) {
        response.header(HeaderNames.ALLOW, methods);
    }

    /** Sets the header that names the kind of token. */
    void challenge() {
        response.header(HeaderNames.WWW_AUTHENTICATE, "Bearer");
    }

    /** Lets the response close its connection. */
    void endConnection() {
        response.header(HeaderValues.CONNECTION_CLOSE);
    }

    /** Reads what is left of the body, so that the next request can follow. */
    void end() {
        body.discardRest();
        connection.requestEnds();
    }

    /** Releases the memory, as soon as nothing needs the body any more. */
    @Override
    public void close() {
        needed.whenComplete((result, error) -> memory.close());
    }

    /** Returns whether the response closes its connection. */
    boolean endsConnection() {
        return response.headers().containsToken(HeaderValues.CONNECTION_CLOSE);
    }

    /** Returns the status that was sent or would be sent. */
    int status() {
        return response.status().code();
    }
}
