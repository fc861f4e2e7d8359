package org.cordalab.peers;

import net.corda.client.rpc.CordaRPCConnection;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;
import org.cordalab.bridge.flow.FlowCall;

/** Starts a flow and waits for its result, on the connection of its thread. */
public final class FlowSampler extends AbstractJavaSamplerClient {

    private CordaRPCConnection connection;
    private FlowCall call;

    @Override
    public void setupTest(JavaSamplerContext context) {
        connection = Target.takeConnection();
        call = Target.call();
    }

    @Override
    public SampleResult runTest(JavaSamplerContext context) {
        return Sampling.of(
                "flow",
                () -> connection
                        .getProxy()
                        .startFlowDynamic(call.flowClass(), call.argumentArray())
                        .getReturnValue()
                        .get());
    }

    @Override
    public void teardownTest(JavaSamplerContext context) {
        if (connection != null) {
            connection.notifyServerAndClose();
        }
    }
}
