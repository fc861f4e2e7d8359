package org.cordalab.bridge.problem;

/** The kinds of errors that the API answers with. The slug is part of the API's contract. */
public enum ProblemType {
    MALFORMED_JSON("malformed-json", 400, "The body is not valid JSON"),
    INVALID_REQUEST("invalid-request", 400, "The request is not valid"),
    UNKNOWN_ARGUMENT("unknown-argument", 400, "The flow has no such argument"),
    MISSING_ARGUMENT("missing-argument", 400, "An argument is missing"),
    INVALID_ARGUMENT("invalid-argument", 400, "An argument has an invalid value"),
    UNAUTHORIZED("unauthorized", 401, "The request needs a token"),
    FOREIGN_ORIGIN("foreign-origin", 403, "Requests from other origins are not allowed"),
    UNKNOWN_NODE("unknown-node", 404, "There is no such node"),
    UNKNOWN_FLOW("unknown-flow", 404, "The node has no such flow"),
    NOT_FOUND("not-found", 404, "Not found"),
    METHOD_NOT_ALLOWED("method-not-allowed", 405, "Method not allowed"),
    REQUEST_TIMEOUT("request-timeout", 408, "The request did not arrive in time"),
    BODY_TOO_LARGE("body-too-large", 413, "The body is too large"),
    UNSUPPORTED_MEDIA_TYPE("unsupported-media-type", 415, "The media type of the body is not supported"),
    UNKNOWN_HOST("unknown-host", 421, "The request is addressed to another host"),
    TOO_MANY_OUTSTANDING_FLOWS("too-many-outstanding-flows", 429, "The node has too many outstanding flows"),
    TOO_MANY_UPLOADS("too-many-uploads", 429, "Other attachments are being uploaded"),
    INTERNAL_ERROR("internal-error", 500, "The bridge failed"),
    FLOW_FAILED("flow-failed", 502, "The flow failed"),
    OVERLOADED("overloaded", 503, "The bridge has no room for the request"),
    NODE_UNAVAILABLE("node-unavailable", 503, "The node cannot be reached"),
    NO_RPC_CONNECTION("no-rpc-connection", 503, "No RPC connection can be opened for the flow"),
    OUTCOME_UNKNOWN("outcome-unknown", 504, "The outcome of the flow is unknown");

    private static final String URN_PREFIX = "urn:corda-lab:problem:";

    private final String slug;
    private final int status;
    private final String title;

    ProblemType(String slug, int status, String title) {
        this.slug = slug;
        this.status = status;
        this.title = title;
    }

    public String slug() {
        return slug;
    }

    public int status() {
        return status;
    }

    public String title() {
        return title;
    }

    /** Returns the {@code type} member of the problem document. */
    public String urn() {
        return URN_PREFIX + slug;
    }
}
