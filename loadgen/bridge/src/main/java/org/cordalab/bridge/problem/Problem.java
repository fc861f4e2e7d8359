package org.cordalab.bridge.problem;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.cordalab.bridge.json.Json;

/**
 * An error that is sent to the caller as an {@code application/problem+json} document (RFC 9457).
 *
 * <p>Thrown where the mistake is found. It has no stack trace, because it describes the request to the caller, not the
 * bridge to its developers, and under overload thousands of them are created.
 */
public final class Problem extends RuntimeException {

    public static final String MEDIA_TYPE = "application/problem+json";

    /** Longer details, such as a flow's exception message, are truncated. */
    private static final int MAX_DETAIL_CHARS = 2000;

    private final ProblemType type;
    private final Map<String, String> members = new LinkedHashMap<>();
    private Optional<Duration> retryAfter = Optional.empty();
    private Optional<ObjectNode> timings = Optional.empty();

    public Problem(ProblemType type, String detail) {
        super(cut(detail), null, false, false);
        this.type = type;
    }

    public ProblemType type() {
        return type;
    }

    /** Sets the invalid field of the request, such as {@code args.iouValue}. */
    public Problem field(String field) {
        return with("field", field);
    }

    /** Sets the class of the exception with which the flow ended. */
    public Problem exception(String className) {
        return with("exception", className);
    }

    /** Sets the client id with which the outcome can be queried. */
    public Problem clientId(String clientId) {
        return with("clientId", clientId);
    }

    public Problem flowId(String flowId) {
        return with("flowId", flowId);
    }

    /** Sets what became of the flow: {@code failed}. The member {@code status} is the HTTP status (RFC 9457). */
    public Problem flowStatus(String flowStatus) {
        return with("flowStatus", flowStatus);
    }

    /** Sets the times of the flow, in the form in which the answer of a completed flow has them. */
    public Problem timings(ObjectNode times) {
        timings = Optional.of(times);
        return this;
    }

    /** Sets the time after which the caller should try again. */
    public Problem retryAfter(Duration delay) {
        retryAfter = Optional.of(delay);
        return this;
    }

    public Optional<Duration> retryAfter() {
        return retryAfter;
    }

    /**
     * Returns the problem document.
     *
     * @param instance the path of the request that failed
     */
    public ObjectNode toJson(String instance) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("type", type.urn());
        json.put("title", type.title());
        json.put("status", type.status());
        json.put("detail", getMessage());
        json.put("instance", cut(instance));
        members.forEach(json::put);
        timings.ifPresent(times -> json.set("timings", times));
        return json;
    }

    private Problem with(String member, String value) {
        if (value != null) {
            members.put(member, cut(value));
        }
        return this;
    }

    /** Shortens a text that may come from the caller, and makes it valid Unicode. */
    private static String cut(String text) {
        return Json.clean(text.length() <= MAX_DETAIL_CHARS ? text : text.substring(0, MAX_DETAIL_CHARS) + "…");
    }
}
