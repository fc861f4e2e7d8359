package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.PublicKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.flows.StartableByRPC;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.transactions.TransactionBuilder;
import net.corda.core.utilities.ProgressTracker;
import net.corda.core.utilities.ProgressTracker.Step;
import org.cordalab.contracts.IouContract;
import org.cordalab.states.IouState;
import org.cordalab.timing.TimedFlow;

/**
 * Issues an IOU from this node, the lender, to another party, the borrower. It is the application of R3's {@code
 * cordapp-example}, which the published benchmarks measured. The lender builds and signs the transaction, the borrower
 * adds a signature, and both finalise it, with the notary if there is a time window.
 *
 * <p>The flow fails with a {@link FlowException} if the value is not positive, the borrower is this node, the network
 * has no notary, or the borrower refuses ({@link IouResponder}). That is the only kind of exception that a node passes
 * to an RPC client unchanged.
 */
@InitiatingFlow
@StartableByRPC
public class Iou extends TimedFlow<SignedTransaction> {
    private static final Duration TIME_WINDOW = Duration.ofMinutes(5);

    // Static, because creating a step costs a stack trace. After a checkpoint restore, it is found by equality.
    private static final Step GENERATING_TRANSACTION = new Step("Generating the transaction for a new IOU.");
    private static final Step VERIFYING_TRANSACTION = new Step("Verifying the contract's constraints.");
    private static final Step SIGNING_TRANSACTION = new Step("Signing the transaction with our private key.");
    private static final Step GATHERING_SIGNATURES = new Step("Gathering the borrower's signature.");
    private static final Step FINALISING_TRANSACTION = new Step("Notarising and recording the transaction.");

    private final ProgressTracker progressTracker = new ProgressTracker(
            GENERATING_TRANSACTION,
            VERIFYING_TRANSACTION,
            SIGNING_TRANSACTION,
            GATHERING_SIGNATURES,
            FINALISING_TRANSACTION);
    private final int iouValue;
    private final Party otherParty;
    private final boolean timeWindow;

    /**
     * @param iouValue the number of units owed, 1 or more
     * @param otherParty the borrower
     */
    public Iou(int iouValue, Party otherParty) {
        this(iouValue, otherParty, false);
    }

    /**
     * @param iouValue the number of units owed, 1 or more
     * @param otherParty the borrower
     * @param timeWindow whether the transaction has a time window. Only then does the notary sign it, because an
     *     issue consumes no state
     */
    public Iou(int iouValue, Party otherParty, boolean timeWindow) {
        this.iouValue = iouValue;
        this.otherParty = otherParty;
        this.timeWindow = timeWindow;
    }

    @Override
    public ProgressTracker getProgressTracker() {
        return progressTracker;
    }

    /** Returns the transaction, recorded by both parties. The notary has signed it if there is a time window. */
    @Override
    @Suspendable
    protected SignedTransaction run() throws FlowException {
        Arguments.requirePositive("iouValue", iouValue);
        Arguments.requireOther("otherParty", otherParty, getServiceHub());

        progressTracker.setCurrentStep(GENERATING_TRANSACTION);
        TransactionBuilder builder = buildTransaction();

        progressTracker.setCurrentStep(VERIFYING_TRANSACTION);
        builder.verify(getServiceHub());

        progressTracker.setCurrentStep(SIGNING_TRANSACTION);
        SignedTransaction signedByLender = getServiceHub().signInitialTransaction(builder);

        progressTracker.setCurrentStep(GATHERING_SIGNATURES);
        List<FlowSession> sessions = Collections.singletonList(initiateFlow(otherParty));
        SignedTransaction signedByBoth = collectSignatures(signedByLender, sessions);

        progressTracker.setCurrentStep(FINALISING_TRANSACTION);
        return finalise(signedByBoth, sessions);
    }

    private TransactionBuilder buildTransaction() throws FlowException {
        IouState iou = new IouState(iouValue, getOurIdentity(), otherParty, new UniqueIdentifier());
        List<PublicKey> signers = Arrays.asList(getOurIdentity().getOwningKey(), otherParty.getOwningKey());
        TransactionBuilder builder = new TransactionBuilder(Arguments.notary(null, getServiceHub()))
                .addOutputState(iou, IouContract.ID)
                .addCommand(new IouContract.Commands.Create(), signers);
        return timeWindow ? builder.setTimeWindow(Instant.now(), TIME_WINDOW) : builder;
    }
}
