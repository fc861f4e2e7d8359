package org.cordalab.bridge.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.time.Duration;
import java.util.concurrent.Executors;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class MemoryBudgetTest {

    private final MemoryBudget budget = new MemoryBudget(100);

    @Test
    void refusesWhatIsNotFreeAndKeepsWhatItHad() {
        var first = budget.reserve();
        var second = budget.reserve();
        first.growTo(60);
        second.growTo(40);

        var refused = catchThrowableOfType(Problem.class, () -> second.growTo(41));

        assertThat(refused.type()).isEqualTo(ProblemType.OVERLOADED);
        assertThat(refused.retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(budget.used()).isEqualTo(100);
        first.close();
        first.close();
        assertThat(budget.used()).isEqualTo(40);
        second.growTo(100);
        assertThat(budget.used()).isEqualTo(100);
    }

    @Test
    void growsAndShrinksOnlyAsFarAsItMust() {
        var one = budget.reserve();
        one.growTo(30);
        one.growTo(10);
        assertThat(budget.used()).isEqualTo(30);
        one.shrinkTo(50);
        one.shrinkTo(20);
        assertThat(budget.used()).isEqualTo(20);
    }

    @Test
    void waitsForMemoryThatOthersRelease() throws Exception {
        var first = budget.reserve();
        first.growTo(60);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var waiting = threads.submit(() -> {
                var second = budget.reserve();
                // More than there is counts as all there is.
                second.growTo(1000, Duration.ofSeconds(20));
                return second;
            });
            assertThat(waiting.isDone()).isFalse();
            first.close();
            waiting.get().close();
        }
        assertThat(budget.used()).isZero();
    }

    @Test
    void takesAtOnceWhatIsFreeAndCountsMoreThanAllAsAll() {
        var first = budget.reserve();
        assertThat(first.tryGrowTo(1000)).isTrue();
        assertThat(budget.used()).isEqualTo(100);
        first.shrinkTo(1);

        assertThat(budget.reserve().tryGrowTo(1000)).isFalse();
        assertThat(budget.reserve().tryGrowTo(100)).isFalse();
        assertThat(budget.reserve().tryGrowTo(99)).isTrue();
    }

    @Test
    void doesNotWaitForLongerThanItsPatience() {
        var first = budget.reserve();
        first.growTo(60);

        var refused = catchThrowableOfType(Problem.class, () -> budget.reserve().growTo(60, Duration.ofMillis(50)));

        assertThat(refused.type()).isEqualTo(ProblemType.OVERLOADED);
    }

    @Test
    void reservesNothingAfterItsEnd() {
        var one = budget.reserve();
        one.close();
        one.growTo(50);

        assertThat(budget.used()).isZero();
    }
}
