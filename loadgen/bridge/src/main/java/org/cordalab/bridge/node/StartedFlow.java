package org.cordalab.bridge.node;

import java.util.concurrent.CompletableFuture;

/**
 * A flow that the node has accepted.
 *
 * @param flowId the node's own id of it
 * @param result what the flow returns; ends with the flow's exception, or with {@link NodeUnavailableException} when the
 *     connection breaks first
 */
public record StartedFlow(String flowId, CompletableFuture<Object> result) {}
