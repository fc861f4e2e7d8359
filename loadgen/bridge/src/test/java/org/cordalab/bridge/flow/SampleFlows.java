package org.cordalab.bridge.flow;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.math.BigDecimal;
import java.security.PublicKey;
import java.util.Currency;
import java.util.List;
import java.util.Set;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.Party;
import net.corda.core.utilities.OpaqueBytes;
import org.cordalab.bridge.flow.SampleClasses.Contradiction;
import org.cordalab.bridge.flow.SampleClasses.Foreign;
import org.cordalab.bridge.flow.SampleClasses.Odd;
import org.cordalab.bridge.flow.SampleClasses.Policy;

/** Flows whose constructors show the possible kinds of arguments. None of them ever runs. */
public final class SampleFlows {

    private SampleFlows() {}

    public enum Colour {
        RED,
        GREEN
    }

    @Retention(RetentionPolicy.RUNTIME)
    public @interface Nullable {}

    public record Line(String label, int value) {}

    private abstract static class Sample extends FlowLogic<Void> {
        @Override
        public Void call() {
            return null;
        }
    }

    public static final class Iou extends Sample {
        public Iou(int iouValue, Party otherParty) {}
    }

    public static final class Empty extends Sample {}

    public static final class Many extends Sample {
        public Many(
                long number,
                boolean truth,
                String text,
                BigDecimal decimal,
                Colour colour,
                SecureHash hash,
                Amount<Currency> amount,
                UniqueIdentifier id,
                List<Party> parties,
                List<Line> lines,
                byte[] bytes) {}
    }

    public static final class Overloaded extends Sample {
        public Overloaded(Party party) {}

        public Overloaded(Party party, int value) {}

        public Overloaded(String value) {}

        public Overloaded(int value) {}
    }

    public static final class WithNull extends Sample {
        public WithNull(@Nullable String note) {}
    }

    public static final class Insure extends Sample {
        public Insure(Policy policy, Party insured) {}
    }

    public static final class OddClasses extends Sample {
        public OddClasses(Odd odd) {}
    }

    public static final class WithContradiction extends Sample {
        public WithContradiction(Contradiction contradiction) {}
    }

    public static final class WithForeign extends Sample {
        public WithForeign(Foreign foreign) {}
    }

    public static final class WithState extends Sample {
        public WithState(StateAndRef<ContractState> state, List<StateAndRef<ContractState>> others) {}
    }

    public static final class WithStateOverloaded extends Sample {
        public WithStateOverloaded(StateAndRef<ContractState> state, List<String> words) {}

        public WithStateOverloaded(StateAndRef<ContractState> state, Set<String> words) {}
    }

    public static final class WithReturned extends Sample {
        public WithReturned(
                UniqueIdentifier id,
                SecureHash hash,
                StateRef ref,
                Party party,
                AbstractParty someone,
                AnonymousParty anonymous,
                PublicKey key,
                OpaqueBytes bytes,
                Amount<Currency> amount,
                List<UniqueIdentifier> ids) {}
    }

    /** Flows that are named after their outer class, as in R3's samples. */
    public static final class Proposal {
        private Proposal() {}

        public static final class Initiator extends Sample {
            public Initiator(UniqueIdentifier proposalId) {}
        }
    }
}
