package org.cordalab.bridge.problem;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * An error that goes to the caller as an {@code application/problem+json} document (RFC 9457).
 *
 * <p>Thrown wherever the mistake is seen. It has no stack trace: it tells the caller about the request, not us about the
 * bridge, and under overload thousands of them are made.
 */
public final class Problem extends RuntimeException {

    public static final String MEDIA_TYPE = "application/problem+json";

    /** Longer details, such as a flow's exception message, are cut. */
    private static final int MAX_DETAIL_CHARS = 2000;

    private final ProblemType type;
    private final Map<String, String> members = new LinkedHashMap<>();
    private Optional<Duration> retryAfter = Optional.empty();

    public Problem(ProblemType type, String detail) {
        super(cut(detail), null, false, false);
        this.type = type;
    }

    public ProblemType type() {
        return type;
    }

    /** Names the field of the request that is wrong, such as {@code args.iouValue}. */
    public Problem field(String field) {
        return with("field", field);
    }

    /** Gives the class of the exception that the flow ended with. */
    public Problem exception(String className) {
        return with("exception", className);
    }

    /** Gives the client id by which the outcome can be asked for. */
    public Problem clientId(String clientId) {
        return with("clientId", clientId);
    }

    public Problem flowId(String flowId) {
        return with("flowId", flowId);
    }

    /** Asks the caller to come back after this long. */
    public Problem retryAfter(Duration delay) {
        retryAfter = Optional.of(delay);
        return this;
    }

    public Optional<Duration> retryAfter() {
        return retryAfter;
    }

    /**
     * The document itself.
     *
     * @param instance the path of the request that failed
     */
    public ObjectNode toJson(String instance) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("type", type.urn());
        json.put("title", type.title());
        json.put("status", type.status());
        json.put("detail", getMessage());
        json.put("instance", instance);
        members.forEach(json::put);
        return json;
    }

    private Problem with(String member, String value) {
        if (value != null) {
            members.put(member, value);
        }
        return this;
    }

    private static String cut(String detail) {
        return detail.length() <= MAX_DETAIL_CHARS ? detail : detail.substring(0, MAX_DETAIL_CHARS) + "…";
    }
}
