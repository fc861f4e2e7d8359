package org.cordalab.bridge.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * The body of a flow start.
 *
 * @param flow class name or short name
 * @param arguments arguments by name
 */
record FlowRequest(String flow, ObjectNode arguments, Optional<String> clientId) {

    private static final Set<String> FIELDS = Set.of("flow", "args", "clientId");
    private static final Pattern CLIENT_ID = Pattern.compile("[A-Za-z0-9._:-]{1,128}");
    private static final Pattern CLIENT_ID_PREFIX = Pattern.compile("[A-Za-z0-9._:-]{8,128}");

    /**
     * Reads a body.
     *
     * @throws Problem invalid-request, with the field
     */
    static FlowRequest of(JsonNode body) {
        if (!body.isObject()) {
            throw invalid("The body must be a JSON object with \"flow\" and \"args\".", null);
        }
        for (Iterator<String> names = body.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            if (!FIELDS.contains(name)) {
                throw invalid(
                        "Unknown field \"%s\". A flow start has the fields flow, args and clientId.".formatted(name),
                        name);
            }
        }
        return new FlowRequest(flow(body), arguments(body), clientId(body));
    }

    private static String flow(JsonNode body) {
        JsonNode flow = body.path("flow");
        if (!flow.isTextual() || flow.textValue().isBlank()) {
            throw invalid("flow must be the class name or the short name of a flow.", "flow");
        }
        return flow.textValue();
    }

    private static ObjectNode arguments(JsonNode body) {
        JsonNode arguments = body.path("args");
        if (arguments.isMissingNode()) {
            return Json.object();
        }
        if (!(arguments instanceof ObjectNode object)) {
            throw invalid("args must be an object of arguments by name.", "args");
        }
        return object;
    }

    private static Optional<String> clientId(JsonNode body) {
        JsonNode clientId = body.path("clientId");
        if (clientId.isMissingNode()) {
            return Optional.empty();
        }
        return Optional.of(checkedClientId(clientId.isTextual() ? clientId.textValue() : ""));
    }

    /**
     * Checks a client id from the body or the path, and returns it.
     *
     * @throws Problem invalid-request
     */
    static String checkedClientId(String clientId) {
        if (!CLIENT_ID.matcher(clientId).matches()) {
            throw invalid("clientId must be 1 to 128 letters, digits and the characters . _ : -", "clientId");
        }
        return clientId;
    }

    /**
     * Checks the beginning of client ids, and returns it.
     *
     * @throws Problem invalid-request, also if it is so short that it may be that of another run's ids
     */
    static String checkedClientIdPrefix(String prefix) {
        if (!CLIENT_ID_PREFIX.matcher(prefix).matches()) {
            throw invalid(
                    "clientIdPrefix must be 8 to 128 letters, digits and the characters . _ : -", "clientIdPrefix");
        }
        return prefix;
    }

    private static Problem invalid(String detail, String field) {
        return new Problem(ProblemType.INVALID_REQUEST, detail).field(field);
    }
}
