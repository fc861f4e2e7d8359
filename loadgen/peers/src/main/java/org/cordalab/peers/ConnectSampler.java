package org.cordalab.peers;

import org.apache.jmeter.config.Arguments;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;

/** Opens one connection to the node. It runs once for each thread of the load, before the load. */
public final class ConnectSampler extends AbstractJavaSamplerClient {

    private static final String NODE = "node";
    private static final String FLOW = "flow";
    private static final String ARGUMENTS = "arguments";

    @Override
    public Arguments getDefaultParameters() {
        var parameters = new Arguments();
        parameters.addArgument(NODE, "");
        parameters.addArgument(FLOW, "");
        parameters.addArgument(ARGUMENTS, "{}");
        return parameters;
    }

    @Override
    public SampleResult runTest(JavaSamplerContext context) {
        return Sampling.of("connect", () -> {
            Target.connect(context.getParameter(NODE), context.getParameter(FLOW), context.getParameter(ARGUMENTS));
            return null;
        });
    }
}
