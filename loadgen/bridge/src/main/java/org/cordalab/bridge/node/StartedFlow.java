package org.cordalab.bridge.node;

import java.util.concurrent.CompletableFuture;

/**
 * A flow that the node has accepted.
 *
 * @param flowId the node's id of the flow
 * @param result completes with the flow's return value or exception, or with {@link NodeUnavailableException} if the
 *     connection breaks first. To cancel it ends the subscription at the node, not the flow
 */
public record StartedFlow(String flowId, CompletableFuture<Object> result) {}
