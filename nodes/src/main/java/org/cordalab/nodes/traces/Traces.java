package org.cordalab.nodes.traces;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.TracerProvider;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SdkTracerProviderBuilder;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.lang.management.ManagementFactory;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The traces of one process. Whoever starts a request decides whether it is traced, and says so in its W3C trace
 * context; Corda hands that on to all flows of the request, on all nodes. A flow that belongs to no such request is not
 * traced.
 */
public final class Traces implements OpenTelemetry {
    /** The file for spans, in which each line is an OTLP request in JSON. Empty or absent: no file. */
    static final String FILE_VARIABLE = "LAB_TRACES_FILE";
    /** Where spans are sent by OTLP/HTTP, without its path: {@code http://collector:4318}. Empty or absent: nowhere. */
    static final String ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT";

    static final String BEANS = "org.cordalab:type=Span";
    private static final String WRITER_BEANS = "org.cordalab:type=SpanWriter,to=";
    private static final long SHUTDOWN_SECONDS_MAX = 5;

    private static Traces shared;

    private final TracerProvider tracers;
    private final ContextPropagators propagators;
    /** Those of a file and of an endpoint, each with a thread of its own: one that is slow must not hold up the other. */
    private final Map<String, SpanWriter> writers;

    private Traces(TracerProvider tracers, ContextPropagators propagators, Map<String, SpanWriter> writers) {
        this.tracers = tracers;
        this.propagators = propagators;
        this.writers = writers;
    }

    /**
     * Returns the traces of this process. An RPC client asks for each of its connections, each time with another name.
     *
     * @param serviceName the name of the process, of which the first counts
     */
    public static synchronized Traces ofProcess(String serviceName) {
        if (shared == null) {
            shared = of(serviceName, System.getenv());
            GlobalOpenTelemetry.set(shared);
            shared.writers.forEach(Traces::register);
            Runtime.getRuntime().addShutdownHook(new Thread(shared::shutdown, "end-of-spans"));
        }
        return shared;
    }

    /** Returns the traces of a process with this environment; what keeps none if it names no place for them. */
    static Traces of(String serviceName, Map<String, String> environment) {
        Map<String, SpanWriter> writers = new LinkedHashMap<>();
        String file = environment.getOrDefault(FILE_VARIABLE, "");
        if (!file.isEmpty()) {
            writers.put("file", new SpanWriter(serviceName, new SpanFile(Paths.get(file))));
        }
        String endpoint = environment.getOrDefault(ENDPOINT_VARIABLE, "");
        if (!endpoint.isEmpty()) {
            writers.put("endpoint", new SpanWriter(serviceName, new OtlpEndpoint(endpoint + "/v1/traces")));
        }
        if (writers.isEmpty()) {
            return new Traces(TracerProvider.noop(), ContextPropagators.noop(), writers);
        }
        SdkTracerProviderBuilder tracers = SdkTracerProvider.builder()
                .setSampler(Sampler.parentBased(Sampler.alwaysOff()))
                .addSpanProcessor(new SpanTimes());
        writers.values().forEach(tracers::addSpanProcessor);
        ContextPropagators propagators = ContextPropagators.create(W3CTraceContextPropagator.getInstance());
        return new Traces(tracers.build(), propagators, writers);
    }

    @Override
    public TracerProvider getTracerProvider() {
        return tracers;
    }

    @Override
    public ContextPropagators getPropagators() {
        return propagators;
    }

    /** Writes what has ended so far. */
    void shutdown() {
        writers.values().forEach(writer -> writer.shutdown().join(SHUTDOWN_SECONDS_MAX, TimeUnit.SECONDS));
    }

    private static void register(String to, SpanWriter writer) {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(writer, new ObjectName(WRITER_BEANS + to));
        } catch (JMException e) {
            System.err.println("The number of spans that are dropped cannot be read: " + e);
        }
    }
}
