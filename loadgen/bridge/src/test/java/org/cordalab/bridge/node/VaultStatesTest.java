package org.cordalab.bridge.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.time.Duration;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import org.cordalab.bridge.flow.SampleClasses;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.run.FakeNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class VaultStatesTest {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final FakeNode node = new FakeNode().connect();
    private final VaultStates states = new VaultStates(node, new TimedCalls("PartyA", LIMIT));
    private final StateRef ref = new StateRef(SecureHash.randomSHA256(), 1);

    @Test
    void findsAnUnconsumedState() {
        node.keeps(new VaultState(state(), false));

        assertThat(states.unconsumed(ref)).isEqualTo(state());
    }

    @Test
    void saysThatAStateIsConsumedOrNotThere() {
        assertThatThrownBy(() -> states.unconsumed(ref)).hasMessage("it is not in the vault of PartyA");
        node.keeps(new VaultState(state(), true));
        assertThatThrownBy(() -> states.unconsumed(ref)).hasMessage("it is already consumed in the vault of PartyA");
    }

    @Test
    void cannotLookWithoutTheNode() {
        node.disconnect();

        Problem problem = catchThrowableOfType(Problem.class, () -> states.unconsumed(ref));

        assertThat(problem.type()).isEqualTo(ProblemType.NODE_UNAVAILABLE);
    }

    @Test
    void looksUpTheStatesOfARequestWithinOneLimit() {
        node.keeps(new VaultState(state(), false));
        var late = new VaultStates(node, new TimedCalls("PartyA", Duration.ZERO));

        assertThat(states.forOneRequest().unconsumed(ref)).isEqualTo(state());
        Problem problem =
                catchThrowableOfType(Problem.class, () -> late.forOneRequest().unconsumed(ref));

        assertThat(problem.type()).isEqualTo(ProblemType.NODE_UNAVAILABLE);
        assertThat(problem).hasMessage("PartyA has not answered all questions about states within 0 s.");
    }

    private StateAndRef<?> state() {
        return SampleClasses.State.at(ref);
    }
}
