package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.SignatureException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import net.corda.core.contracts.StateRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.crypto.TransactionSignature;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.NotaryFlow;
import net.corda.core.node.StatesToRecord;
import net.corda.core.transactions.SignedTransaction;
import net.corda.core.utilities.UntrustworthyData;

/**
 * Collects the signatures of all parties in parallel, and finalises in parallel. Each party gets the transaction
 * together with its backchain. If the parties requested the backchain, they would have to wait for one another again.
 *
 * <p>A separate class, because nodes before Corda 4.5 cannot link it.
 */
final class ParallelCompletion extends FlowLogic<SignedTransaction> {
    private final SettlementParallel settlement;
    private final SignedTransaction signed;
    private final List<FlowSession> sessions;

    ParallelCompletion(SettlementParallel settlement, SignedTransaction signed, List<FlowSession> sessions) {
        this.settlement = settlement;
        this.signed = signed;
        this.sessions = sessions;
    }

    @Override
    @Suspendable
    public SignedTransaction call() throws FlowException {
        Set<FlowSession> all = new LinkedHashSet<>(sessions);
        sendAll(new SettlementProposal(signed, history()), all);
        List<TransactionSignature> signatures = new ArrayList<>();
        for (UntrustworthyData<TransactionSignature> answer : receiveAll(TransactionSignature.class, sessions)) {
            signatures.add(answer.unwrap(signature -> signature));
        }
        SignedTransaction signedByAll = signed.withAdditionalSignatures(signatures);
        verifySignatures(signedByAll);

        List<TransactionSignature> ofNotary = new ArrayList<>(subFlow(new NotaryFlow.Client(signedByAll)));
        SignedTransaction notarised = signedByAll.withAdditionalSignatures(ofNotary);
        getServiceHub().recordTransactions(StatesToRecord.ONLY_RELEVANT, Collections.singletonList(notarised));
        sendAll(notarised, all);
        return notarised;
    }

    private void verifySignatures(SignedTransaction transaction) throws FlowException {
        try {
            transaction.verifySignaturesExcept(transaction.getNotary().getOwningKey());
        } catch (SignatureException e) {
            throw new FlowException("A party's signature is missing or wrong: " + e.getMessage(), e);
        }
    }

    /** Returns the transaction's backchain, oldest first. */
    private List<SignedTransaction> history() {
        List<SignedTransaction> found = new ArrayList<>();
        Set<SecureHash> seen = new HashSet<>();
        List<SecureHash> open = new ArrayList<>();
        signed.getTx().getInputs().forEach(input -> open.add(input.getTxhash()));
        while (!open.isEmpty()) {
            SecureHash id = open.get(open.size() - 1);
            SignedTransaction transaction =
                    getServiceHub().getValidatedTransactions().getTransaction(id);
            boolean ready = true;
            for (StateRef input : transaction.getTx().getInputs()) {
                if (!seen.contains(input.getTxhash())) {
                    open.add(input.getTxhash());
                    ready = false;
                }
            }
            if (ready) {
                open.remove(open.size() - 1);
                if (seen.add(id)) {
                    found.add(transaction);
                }
            }
        }
        return found;
    }
}
