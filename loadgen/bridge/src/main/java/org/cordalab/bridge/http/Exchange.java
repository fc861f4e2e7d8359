package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.JsonNode;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Optional;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** One request and its response. */
final class Exchange {

    private static final String JSON_MEDIA_TYPE = "application/json";

    private final ServerRequest request;
    private final ServerResponse response;
    private final long receivedAt = System.nanoTime();

    Exchange(ServerRequest request, ServerResponse response) {
        this.request = request;
        this.response = response;
    }

    /** Returns the time since the request arrived, in nanoseconds. */
    long ageNanos() {
        return System.nanoTime() - receivedAt;
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
     * @throws Problem unsupported-media-type, body-too-large, malformed-json
     */
    JsonNode json(int maxBytes) {
        return Json.read(bytes(JSON_MEDIA_TYPE, maxBytes));
    }

    /**
     * Reads the body, whose Content-Type must be the given media type. This rejects the types that a web page may send
     * without a preflight request.
     *
     * @throws Problem unsupported-media-type, body-too-large
     */
    byte[] bytes(String mediaType, int maxBytes) {
        String given = header(HeaderNames.CONTENT_TYPE).orElse("");
        if (!given.split(";", 2)[0].strip().equalsIgnoreCase(mediaType)) {
            throw new Problem(
                            ProblemType.UNSUPPORTED_MEDIA_TYPE,
                            "The Content-Type must be %s, but %s."
                                    .formatted(mediaType, given.isEmpty() ? "is missing" : "is " + given))
                    .field("Content-Type");
        }
        return RequestBody.read(request, response, maxBytes);
    }

    void send(int status, JsonNode json) {
        send(status, JSON_MEDIA_TYPE, Json.write(json));
    }

    void send(int status, String contentType, byte[] body) {
        response.status(Status.create(status));
        response.header(HeaderNames.CONTENT_TYPE, contentType);
        response.send(body);
    }

    /** Sends a body of any length, which is not held in memory. */
    void stream(String contentType, Body body) {
        response.status(Status.OK_200);
        response.header(HeaderNames.CONTENT_TYPE, contentType);
        try (var out = new BufferedOutputStream(response.outputStream())) {
            body.write(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes a body. */
    @FunctionalInterface
    interface Body {
        void write(OutputStream out) throws IOException;
    }

    void send(Problem problem) {
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

    /** Returns whether the response closes its connection. */
    boolean endsConnection() {
        return response.headers().containsToken(HeaderValues.CONNECTION_CLOSE);
    }

    /** Returns the status that was sent or would be sent. */
    int status() {
        return response.status().code();
    }
}
