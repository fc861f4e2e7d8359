package org.cordalab.timing;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import net.corda.core.flows.FlowLogic;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one span that a flow of the lab has in a node before Corda 4.10, which makes none itself: from its creation to its
 * end. It is in the file and the form of those of later nodes.
 */
final class FlowSpan {
    private static final String FILE_VARIABLE = "LAB_TRACES_FILE";
    private static final String CORDA_HAS_SPANS = "net.corda.core.internal.telemetry.TelemetryServiceImpl";
    private static final String LINE = ("{'resourceSpans':[{'resource':{'attributes':[{'key':'service.name','value':"
                    + "{'stringValue':'%s'}}]},'scopeSpans':[{'spans':[{'traceId':'%s','spanId':'%s','name':'%s','kind':1,"
                    + "'startTimeUnixNano':'%d000000','endTimeUnixNano':'%d000000',"
                    + "'attributes':[{'key':'flow.id','value':{'stringValue':'%s'}}],'status':{%s}}]}]}]}\n")
            .replace('\'', '"');
    private static final Logger LOG = LoggerFactory.getLogger(FlowSpan.class);
    private static final OutputStream OUT = open();

    private FlowSpan() {}

    static boolean isOn() {
        return OUT != null;
    }

    private static OutputStream open() {
        String file = System.getenv(FILE_VARIABLE);
        try {
            Class.forName(CORDA_HAS_SPANS);
            return null;
        } catch (ClassNotFoundException e) {
            if (file == null || file.isEmpty()) {
                return null;
            }
        }
        try {
            return Files.newOutputStream(Paths.get(file), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            LOG.warn("the times of flows cannot be written", e);
            return null;
        }
    }

    static void write(FlowLogic<?> flow, long createdMillis, boolean succeeded) {
        String id = flow.getRunId().getUuid().toString();
        String trace = id.replace("-", "");
        String line = String.format(
                LINE,
                flow.getOurIdentity().getName(),
                trace,
                trace.substring(16),
                flow.getClass().getName(),
                createdMillis,
                System.currentTimeMillis(),
                id,
                succeeded ? "" : "\"code\":2,\"message\":\"failed\"");
        synchronized (OUT) {
            try {
                OUT.write(line.getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                LOG.warn("the times of a flow were not written", e);
            }
        }
    }
}
