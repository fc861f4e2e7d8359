package org.cordalab.nodes.traces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The spans of one process, from the API to a file or an endpoint. */
class TracesTest {
    private static final String NODE = "O=Party \"A\", L=London, C=GB";
    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
    private static final String PARENT = "b7ad6b7169203331";

    @TempDir
    Path folder;

    private static Context parent(OpenTelemetry traces, boolean isSampled) {
        Map<String, String> carrier =
                Collections.singletonMap("traceparent", "00-" + TRACE + "-" + PARENT + (isSampled ? "-01" : "-00"));
        return traces.getPropagators().getTextMapPropagator().extract(Context.root(), carrier, new FromMap());
    }

    private static Span span(OpenTelemetry traces, String name, Context parent) {
        return traces.getTracer("test")
                .spanBuilder(name)
                .setParent(parent)
                .setAttribute("flow.id", "7f2")
                .setAttribute("creation.time", 1_700_000_000_123L)
                .setAttribute("class.name", name)
                .setAttribute("thread.id", 12)
                .startSpan();
    }

    private Traces toFile() {
        return Traces.of(NODE, Collections.singletonMap(Traces.FILE_VARIABLE, file().toString()));
    }

    private Path file() {
        return folder.resolve("spans.ndjson");
    }

    private List<String> lines() throws IOException {
        return Files.readAllLines(file(), StandardCharsets.UTF_8);
    }

    @Test
    void theSpansOfASampledRequestAreOneRequestOfOtlpWithTheAttributesOfAFlowWhereItBegins() throws IOException {
        Traces traces = toFile();
        Span flow = span(traces, "Iou", parent(traces, true));
        Span sign = span(traces, "sign", Context.root().with(flow));
        sign.setStatus(StatusCode.ERROR, "no\nkey");
        sign.end();
        flow.end();
        traces.shutdown();

        String expected = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
                + "{\"stringValue\":\"O=Party \\\"A\\\", L=London, C=GB\"}}]},\"scopeSpans\":[{\"spans\":["
                + "{\"traceId\":\"TRACE\",\"spanId\":\"SIGN\",\"parentSpanId\":\"FLOW\",\"name\":\"sign\",\"kind\":1,"
                + "\"startTimeUnixNano\":\"N\",\"endTimeUnixNano\":\"N\","
                + "\"attributes\":[{\"key\":\"flow.id\",\"value\":{\"stringValue\":\"7f2\"}}],"
                + "\"status\":{\"code\":2,\"message\":\"no\\u000akey\"}},"
                + "{\"traceId\":\"TRACE\",\"spanId\":\"FLOW\",\"parentSpanId\":\"PARENT\",\"name\":\"Iou\",\"kind\":1,"
                + "\"startTimeUnixNano\":\"N\",\"endTimeUnixNano\":\"N\",\"attributes\":["
                + "ATTRIBUTES]}]}]}]}";
        String line = lines().get(0)
                .replaceAll("UnixNano\":\"\\d{19}\"", "UnixNano\":\"N\"")
                .replace(TRACE, "TRACE")
                .replace(PARENT, "PARENT")
                .replace(flow.getSpanContext().getSpanId(), "FLOW")
                .replace(sign.getSpanContext().getSpanId(), "SIGN")
                // Their order is not determined.
                .replaceAll("\"attributes\":\\[([^]]*creation[^]]*)]", "\"attributes\":[ATTRIBUTES]");
        assertThat(line).isEqualTo(expected);
        assertThat(lines()).hasSize(1);
        assertThat(lines().get(0))
                .contains("{\"key\":\"creation.time\",\"value\":{\"intValue\":\"1700000000123\"}}")
                .contains("{\"key\":\"flow.id\",\"value\":{\"stringValue\":\"7f2\"}}");
    }

    @Test
    void theTimesOfSpansAreAddedUpByTheirNames() throws Exception {
        Traces traces = toFile();
        Span flow = span(traces, "com.example.Pays", parent(traces, true));
        Span sign = span(traces, "com.example.Keys#sign", Context.root().with(flow));
        sign.end();
        flow.end();
        traces.shutdown();
        double whole = time("com.example.Pays", "Seconds");
        double inside = time("com.example.Keys#sign", "Seconds");
        assertThat(time("com.example.Pays", "SelfSeconds")).isCloseTo(whole - inside, within(1e-9));
        assertThat(time("com.example.Keys#sign", "SelfSeconds"))
                .isEqualTo(inside)
                .isPositive();
        assertThat(time("com.example.Pays", "Count")).isEqualTo(1);
    }

    private static double time(String name, String attribute) throws JMException {
        ObjectName bean = new ObjectName("org.cordalab:type=Span,name=" + ObjectName.quote(name));
        return ((Number) ManagementFactory.getPlatformMBeanServer().getAttribute(bean, attribute)).doubleValue();
    }

    @Test
    void requestsThatAreNotSampledAndFlowsOfNoRequestLeaveNothing() {
        Traces traces = toFile();
        Span unsampled = span(traces, "Iou", parent(traces, false));
        Span alone = span(traces, "Scheduled", Context.root());
        for (Span span : new Span[] {unsampled, alone}) {
            span.end();
            // Otherwise a flow would take over the parent of the one before it on its thread.
            assertThat(span.getSpanContext().isValid()).isTrue();
        }
        traces.shutdown();
        assertThat(file()).doesNotExist();
    }

    @Test
    void withoutAPlaceForSpansCordaFindsTheTracerThatItTakesForNone() {
        Traces traces = Traces.of(NODE, Collections.emptyMap());
        assertThat(traces.getTracer("corda").getClass().getName())
                .isEqualTo("io.opentelemetry.api.trace.DefaultTracer");
        traces.shutdown();
    }

    @Test
    void spansAreSentToAnEndpointAndThoseThatItDoesNotTakeAreCounted() throws Exception {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1/traces", exchange -> {
            received.add(exchange.getRequestHeaders().getFirst("Content-Type") + " " + text(exchange.getRequestBody()));
            exchange.sendResponseHeaders(received.size() == 1 ? 200 : 503, -1);
            exchange.close();
        });
        server.start();
        try {
            String address = "http://127.0.0.1:" + server.getAddress().getPort();
            Traces traces = Traces.of(NODE, Collections.singletonMap(Traces.ENDPOINT_VARIABLE, address));
            span(traces, "Iou", parent(traces, true)).end();
            assertThat(received.poll(10, TimeUnit.SECONDS)).startsWith("application/json {\"resourceSpans\":[");
            span(traces, "Iou", parent(traces, true)).end();
            traces.shutdown();
            assertThat(received).hasSize(1);
        } finally {
            server.stop(0);
        }
    }

    private static String text(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[4096];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }

    @Test
    void aFileHasALimitAndAWriterThatIsSlowAQueue() throws Exception {
        SpanFile full = new SpanFile(file(), 10);
        CountDownLatch release = new CountDownLatch(1);
        SpanWriter writer = new SpanWriter(NODE, request -> {
            try {
                release.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            full.write(request);
        });
        SdkTracerProvider provider =
                SdkTracerProvider.builder().addSpanProcessor(writer).build();
        int ended = 2 * SpanWriter.QUEUE_SPANS_MAX;
        for (int i = 0; i < ended; i++) {
            provider.get("test").spanBuilder("s").startSpan().end();
        }
        long dropped = writer.getDropped();
        assertThat(dropped)
                .isBetween((long) ended - SpanWriter.QUEUE_SPANS_MAX - SpanWriter.BATCH_SPANS_MAX, (long) ended);
        release.countDown();
        assertThat(writer.shutdown().join(10, TimeUnit.SECONDS).isSuccess()).isTrue();
        assertThat(writer.getWritten()).isZero();
        assertThat(writer.getDropped()).isEqualTo(ended);
        assertThat(Files.size(file())).isZero();
    }

    @Test
    void aLineThatWasCutOffIsEndedAndAFileMayBeEmptied() throws IOException {
        Files.write(file(), "{\"resou".getBytes(StandardCharsets.UTF_8));
        SpanFile spans = new SpanFile(file(), 20);
        spans.write("first".getBytes(StandardCharsets.UTF_8));
        assertThat(lines()).containsExactly("{\"resou", "first");
        assertThatThrownBy(() -> spans.write("second".getBytes(StandardCharsets.UTF_8)))
                .isInstanceOf(IOException.class);
        Files.write(file(), new byte[0]);
        spans.write("third".getBytes(StandardCharsets.UTF_8));
        assertThat(lines()).containsExactly("third");
    }

    @Test
    void aSinkThatFailsInAnyWayLosesItsBatchAndNoOther() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        SpanWriter writer = new SpanWriter(NODE, request -> {
            if (failed.getCount() > 0) {
                failed.countDown();
                throw new IllegalStateException("no such sink");
            }
        });
        SdkTracerProvider provider =
                SdkTracerProvider.builder().addSpanProcessor(writer).build();
        provider.get("test").spanBuilder("s").startSpan().end();
        assertThat(failed.await(10, TimeUnit.SECONDS)).isTrue();
        provider.get("test").spanBuilder("s").startSpan().end();
        assertThat(writer.shutdown().join(10, TimeUnit.SECONDS).isSuccess()).isTrue();
        assertThat(writer.getDropped()).isEqualTo(1);
        assertThat(writer.getWritten()).isEqualTo(1);
    }

    @Test
    void anAddressThatIsNoneIsAnEndpointThatTakesNothing() {
        for (String address : new String[] {"jaeger:4318", "http://127.0.0.1:1"}) {
            assertThatThrownBy(() -> new OtlpEndpoint(address).write(new byte[1]))
                    .isInstanceOf(IOException.class);
        }
    }

    private static final class FromMap implements TextMapGetter<Map<String, String>> {
        @Override
        public Iterable<String> keys(Map<String, String> carrier) {
            return carrier.keySet();
        }

        @Override
        public String get(Map<String, String> carrier, String key) {
            return carrier.get(key);
        }
    }
}
