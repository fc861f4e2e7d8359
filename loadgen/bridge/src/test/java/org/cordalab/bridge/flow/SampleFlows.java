package org.cordalab.bridge.flow;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.math.BigDecimal;
import java.util.Currency;
import java.util.List;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.crypto.SecureHash;
import net.corda.core.flows.FlowLogic;
import net.corda.core.identity.Party;

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
}
