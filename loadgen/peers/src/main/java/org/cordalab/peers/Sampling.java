package org.cordalab.peers;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.jmeter.samplers.SampleResult;

/** Times an action as a sample of JMeter. */
final class Sampling {

    private Sampling() {}

    /**
     * Returns the sample of an action. If the action throws anything, the sample failed, and says why: JMeter would end
     * only the thread, and the test would continue without it.
     */
    static SampleResult of(String label, Callable<?> action) {
        var sample = new SampleResult();
        sample.setSampleLabel(label);
        sample.sampleStart();
        try {
            action.call();
            sample.sampleEnd();
            sample.setSuccessful(true);
            sample.setResponseCodeOK();
        } catch (Throwable e) {
            sample.sampleEnd();
            Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
            sample.setSuccessful(false);
            sample.setResponseCode("500");
            sample.setResponseMessage(String.valueOf(cause));
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
        return sample;
    }
}
