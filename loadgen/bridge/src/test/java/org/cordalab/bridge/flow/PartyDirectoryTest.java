package org.cordalab.bridge.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.cordalab.bridge.flow.TestParties.NOTARY;
import static org.cordalab.bridge.flow.TestParties.PARTY_A;
import static org.cordalab.bridge.flow.TestParties.PARTY_B;

import java.util.List;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
import org.junit.jupiter.api.Test;

class PartyDirectoryTest {

    private final PartyDirectory directory = TestParties.directory();

    @Test
    void findsByNameAndKey() {
        assertThat(directory.byName(PARTY_A.getName())).isEqualTo(PARTY_A);
        assertThat(directory.byKey(PARTY_B.getOwningKey())).isEqualTo(PARTY_B);
    }

    @Test
    void findsByPartOfTheName() {
        assertThat(directory.like("new york")).containsExactly(PARTY_B);
        assertThat(directory.like("london")).containsExactlyInAnyOrder(NOTARY, PARTY_A);
        assertThat(directory.like(" ")).isEmpty();
    }

    @Test
    void prefersAnOrganisationOfExactlyThatName() {
        var directory = TestParties.directory();
        directory.add(List.of(new Party(CordaX500Name.parse("O=PartyB Holding,L=Paris,C=FR"), NOTARY.getOwningKey())));

        assertThat(directory.like("partyb")).containsExactly(PARTY_B);
    }

    @Test
    void followsTheNetworkMap() {
        directory.remove(List.of(PARTY_A));
        assertThat(directory.all()).containsExactly(NOTARY, PARTY_B);

        directory.replaceAll(List.of(PARTY_A));
        assertThat(directory.all()).containsExactly(PARTY_A);
    }
}
