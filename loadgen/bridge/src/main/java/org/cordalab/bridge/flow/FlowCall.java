package org.cordalab.bridge.flow;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import net.corda.core.flows.FlowLogic;
import org.cordalab.bridge.json.Json;

/**
 * A checked flow start: the class and the constructor arguments in order.
 *
 * @param shortName the flow's name in metrics
 * @param constructor the constructor that accepts the arguments
 * @param fingerprint equal for starts of the same flow with the same JSON arguments, in whatever order their keys are
 */
public record FlowCall(
        Class<? extends FlowLogic<?>> flowClass,
        String shortName,
        FlowConstructor constructor,
        List<Object> arguments,
        String fingerprint) {

    static FlowCall of(FlowDefinition flow, FlowConstructor constructor, Object[] arguments, ObjectNode json) {
        return new FlowCall(
                flow.flowClass(),
                flow.shortName(),
                constructor,
                // Arguments may be null, which List.of does not allow.
                Arrays.asList(arguments.clone()),
                fingerprint(flow.flowClass().getName(), json));
    }

    public Object[] argumentArray() {
        return arguments.toArray();
    }

    private static String fingerprint(String className, ObjectNode json) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(className.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest.digest(Json.canonical(json)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform must support SHA-256", e);
        }
    }
}
