package org.cordalab.bridge.flow;

import java.util.List;
import net.corda.core.crypto.Crypto;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;

/** A network of three parties with real keys. */
public final class TestParties {

    public static final Party NOTARY = party("O=Notary,L=London,C=GB");
    public static final Party PARTY_A = party("O=PartyA,L=London,C=GB");
    public static final Party PARTY_B = party("O=PartyB,L=New York,C=US");

    private TestParties() {}

    public static PartyDirectory directory() {
        var directory = new PartyDirectory();
        directory.replaceAll(List.of(NOTARY, PARTY_A, PARTY_B));
        return directory;
    }

    private static Party party(String name) {
        return new Party(CordaX500Name.parse(name), Crypto.generateKeyPair().getPublic());
    }
}
