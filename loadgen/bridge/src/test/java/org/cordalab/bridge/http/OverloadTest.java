package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Offers a stub node eight times what it can serve, for three seconds. It serves two flows at once, each for 100 ms, so
 * its peak is 20 flows per second. A caller waits for half a second.
 */
@Timeout(60)
class OverloadTest {

    private static final int SERVED_AT_ONCE = 2;
    private static final int PEAK = 20;
    private static final int OFFERED = 8 * PEAK;
    private static final int SECONDS = 3;
    private static final Duration PATIENCE = Duration.ofMillis(500);
    private static final double GOODPUT_SHARE_MIN = 0.9;

    @TempDir
    private Path folder;

    @Test
    void theLimitKeepsTheGoodput() throws Exception {
        // Four flows take 200 ms, which is within the patience of a caller.
        List<Integer> statuses = statuses(2 * SERVED_AT_ONCE);

        assertThat(count(statuses, 200)).isGreaterThanOrEqualTo((long) (GOODPUT_SHARE_MIN * PEAK * SECONDS));
        assertThat(count(statuses, ProblemType.TOO_MANY_OUTSTANDING_FLOWS.status()))
                .isGreaterThan((OFFERED - 2 * PEAK) * SECONDS);
    }

    @Test
    void withoutALimitHardlyAnyFlowEndsInTime() throws Exception {
        List<Integer> statuses = statuses(OFFERED * SECONDS);

        // Whoever comes after the first 10 flows waits longer than half a second.
        assertThat(count(statuses, 200)).isLessThan(PEAK * SECONDS / 2);
        assertThat(statuses).containsOnly(200, ProblemType.OUTCOME_UNKNOWN.status());
    }

    private static long count(List<Integer> statuses, int status) {
        return statuses.stream().filter(each -> each == status).count();
    }

    /** Returns the status of every answer to open load. */
    private List<Integer> statuses(int maxOutstanding) throws Exception {
        int flows = OFFERED * SECONDS;
        List<CompletableFuture<HttpResponse<String>>> answers = Collections.synchronizedList(new ArrayList<>());
        try (var bridge = TestBridge.ofStub(plan(flows + 1), maxOutstanding, PATIENCE);
                var clock = Executors.newSingleThreadScheduledExecutor()) {
            // Loads the classes, which may take longer than a caller waits.
            start(bridge).get();
            var sent = new AtomicLong();
            var done = new CompletableFuture<Void>();
            clock.scheduleAtFixedRate(
                    () -> {
                        if (sent.getAndIncrement() < flows) {
                            answers.add(start(bridge));
                        } else {
                            done.complete(null);
                        }
                    },
                    0,
                    TimeUnit.SECONDS.toNanos(1) / OFFERED,
                    TimeUnit.NANOSECONDS);
            done.get();
            clock.shutdownNow();
            List<Integer> statuses = new ArrayList<>();
            for (var answer : answers) {
                statuses.add(answer.get().statusCode());
            }
            return statuses;
        }
    }

    private Path plan(int flows) throws IOException {
        String delays = String.join(",", Collections.nCopies(flows, "100"));
        return Files.writeString(folder.resolve("plan.json"), """
                {"nodes": {"PartyA": "O=PartyA,L=London,C=GB", "PartyB": "O=PartyB,L=New York,C=US"},
                 "flow": "org.cordalab.bridge.flow.SampleFlows$Iou",
                 "stateType": "net.corda.core.contracts.ContractState",
                 "serveAtOnce": %d, "delaysMs": [%s]}""".formatted(SERVED_AT_ONCE, delays));
    }

    private static CompletableFuture<HttpResponse<String>> start(TestBridge bridge) {
        String body = "{\"flow\": \"Iou\", \"args\": {\"iouValue\": 1, \"otherParty\": \"PartyB\"}}";
        return bridge.send("POST", "/v1/nodes/PartyA/flows", body);
    }
}
