package org.cordalab.flows;

import co.paralleluniverse.fibers.Suspendable;
import java.security.GeneralSecurityException;
import net.corda.core.flows.FlowException;
import net.corda.core.flows.FlowLogic;
import net.corda.core.flows.FlowSession;
import net.corda.core.flows.InitiatedBy;
import net.corda.core.flows.InitiatingFlow;
import net.corda.core.identity.AnonymousParty;
import net.corda.core.identity.Party;
import net.corda.core.identity.PartyAndCertificate;

/** Asks another party for a new key, so that only the payer knows who is paid. */
@InitiatingFlow
public class FreshIdentity extends FlowLogic<AnonymousParty> {
    private final Party otherParty;

    public FreshIdentity(Party otherParty) {
        this.otherParty = otherParty;
    }

    @Override
    @Suspendable
    public AnonymousParty call() throws FlowException {
        PartyAndCertificate fresh = initiateFlow(otherParty)
                .sendAndReceive(PartyAndCertificate.class, true)
                .unwrap(answer -> answer);
        if (!fresh.getName().equals(otherParty.getName())) {
            throw new FlowException(otherParty.getName() + " returned an identity of " + fresh.getName() + ".");
        }
        try {
            getServiceHub().getIdentityService().verifyAndRegisterIdentity(fresh);
        } catch (GeneralSecurityException e) {
            throw new FlowException(otherParty.getName() + " returned an invalid identity.", e);
        }
        return fresh.getParty().anonymise();
    }

    /** The other party's side: creates a new key, certified by its own identity. */
    @InitiatedBy(FreshIdentity.class)
    public static class Responder extends FlowLogic<Void> {
        private final FlowSession session;

        public Responder(FlowSession session) {
            this.session = session;
        }

        @Override
        @Suspendable
        public Void call() throws FlowException {
            session.receive(Boolean.class).unwrap(request -> request);
            session.send(getServiceHub().getKeyManagementService().freshKeyAndCert(getOurIdentityAndCert(), false));
            return null;
        }
    }
}
