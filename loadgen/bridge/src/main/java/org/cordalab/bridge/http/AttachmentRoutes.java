package org.cordalab.bridge.http;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import net.corda.core.crypto.SecureHash;
import org.cordalab.bridge.BridgedNode;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.node.NodeSession;
import org.cordalab.bridge.node.NodeUnavailableException;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * Stores attachments in nodes and reports whether a node has one.
 *
 * <p>Corda's RPC client serialises a whole attachment in memory, in several copies, even if it is given a stream. So
 * the bridge also reads it as a whole and allows one upload at a time. The body of the next upload stays unread until
 * the current one has ended. A body that does not come at a steady pace gives way to it.
 */
final class AttachmentRoutes {

    private static final String MEDIA_TYPE = "application/zip";
    private static final byte[] ZIP_START = "PK\3\4".getBytes(StandardCharsets.ISO_8859_1);
    private static final String HASH_PATTERN = "[0-9A-Fa-f]{64}";
    private static final int MAX_NAME_CHARS = 255;
    private static final Duration MAX_WAIT = Duration.ofSeconds(60);
    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final BridgedNodes nodes;
    private final int maxBytes;
    private final Semaphore uploads = new Semaphore(1, true);

    AttachmentRoutes(BridgedNodes nodes, int maxBytes) {
        this.nodes = nodes;
        this.maxBytes = maxBytes;
    }

    /** {@code POST /v1/nodes/{node}/attachments?name=…}. */
    void upload(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String name = exchange.query("name");
        if (name.length() > MAX_NAME_CHARS) {
            throw new Problem(
                            ProblemType.INVALID_REQUEST,
                            "The name is longer than %d characters.".formatted(MAX_NAME_CHARS))
                    .field("name");
        }
        if (!uploads.tryAcquire(MAX_WAIT.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new Problem(
                            ProblemType.TOO_MANY_UPLOADS,
                            "Only one attachment is uploaded at a time, and no earlier upload has ended within %d s."
                                    .formatted(MAX_WAIT.toSeconds()))
                    .retryAfter(RETRY_AFTER);
        }
        // A call that the node does not answer in time still holds the attachment.
        var ended = new CompletableFuture<Void>();
        ended.thenRun(uploads::release);
        exchange.keepUntil(ended);
        exchange.paceBody();
        byte[] content;
        NodeSession session;
        try {
            content = content(exchange);
            session = session(node);
        } catch (InterruptedException | RuntimeException | Error e) {
            ended.complete(null);
            throw e;
        }
        try {
            Optional<SecureHash> stored =
                    node.calls().call(() -> session.upload(content, name), time(content), () -> ended.complete(null));
            exchange.send(
                    stored.isPresent() ? 201 : 200,
                    Json.object()
                            .put("attachmentId", SecureHash.sha256(content).toString())
                            .put("bytes", content.length));
        } catch (Problem e) {
            throw e;
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        } catch (RuntimeException e) {
            throw new Problem(
                    ProblemType.INVALID_REQUEST,
                    "%s rejected the attachment: %s".formatted(node.name(), e.getMessage()));
        }
    }

    /** Returns how much longer than other calls an upload may take. A node on two cores takes less than half of it. */
    private static Duration time(byte[] content) {
        return Duration.ofSeconds(2L * (content.length >> 20));
    }

    private byte[] content(Exchange exchange) throws InterruptedException {
        byte[] content = exchange.bytes(MEDIA_TYPE, maxBytes);
        if (!Arrays.equals(Arrays.copyOf(content, ZIP_START.length), ZIP_START)) {
            throw new Problem(ProblemType.INVALID_REQUEST, "An attachment must be a zip or jar file.");
        }
        return content;
    }

    /** {@code GET /v1/nodes/{node}/attachments/{id}}. */
    void find(Exchange exchange) throws InterruptedException {
        BridgedNode node = nodes.get(exchange.path("node"));
        String id = exchange.path("id");
        if (!id.matches(HASH_PATTERN)) {
            throw new Problem(ProblemType.INVALID_REQUEST, "An attachment's id must have 64 hexadecimal digits.")
                    .field("id");
        }
        try {
            NodeSession session = session(node);
            if (!node.calls().call(() -> session.hasAttachment(SecureHash.parse(id)))) {
                throw new Problem(ProblemType.NOT_FOUND, "%s has no attachment %s.".formatted(node.name(), id));
            }
        } catch (NodeUnavailableException e) {
            throw NodeRoutes.unavailable(node);
        }
        exchange.send(
                200,
                Json.object().put("attachmentId", id.toUpperCase(Locale.ROOT)).put("exists", true));
    }

    private static NodeSession session(BridgedNode node) {
        return node.gateway().session().orElseThrow(() -> NodeRoutes.unavailable(node));
    }
}
