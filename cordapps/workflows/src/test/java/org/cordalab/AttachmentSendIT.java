package org.cordalab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import net.corda.core.concurrent.CordaFuture;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.Party;
import net.corda.core.transactions.SignedTransaction;
import net.corda.testing.node.MockNetwork;
import net.corda.testing.node.StartedMockNode;
import org.cordalab.flows.AttachmentSend;
import org.cordalab.states.AttachmentState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests how attachments are sent from one node to another. */
class AttachmentSendIT {
    private static MockNetwork network;
    private static StartedMockNode sender;
    private static StartedMockNode recipient;

    @BeforeAll
    static void startNetwork() {
        network = new MockNetwork(MockParties.networkParameters());
        sender = network.createPartyNode(MockParties.LENDER);
        recipient = network.createPartyNode(MockParties.BORROWER);
    }

    @AfterAll
    static void stopNetwork() {
        network.stopNodes();
    }

    @Test
    void theRecipientStoresWhatItDidNotHave() throws Exception {
        SecureHash attachment = upload("first");
        assertFalse(has(recipient, attachment));

        SignedTransaction sent = send(attachment, party(recipient)).get();

        assertTrue(has(recipient, attachment));
        assertTrue(sent.getTx().getAttachments().contains(attachment));
        for (StartedMockNode node : new StartedMockNode[] {sender, recipient}) {
            assertEquals(
                    1,
                    node.transaction(() ->
                            node.getServices().getVaultService().queryBy(AttachmentState.class).getStates().stream()
                                    .filter(each -> each.getState()
                                            .getData()
                                            .getAttachmentId()
                                            .equals(attachment))
                                    .count()));
        }
    }

    @Test
    void theSameAttachmentCanBeSentAgain() throws Exception {
        SecureHash attachment = upload("again");
        send(attachment, party(recipient)).get();

        send(attachment, party(recipient)).get();

        assertTrue(has(recipient, attachment));
    }

    @Test
    void whatTheSenderDoesNotHaveIsRefused() {
        SecureHash unknown = SecureHash.zeroHash;
        MockParties.assertFailure(
                "attachmentId must be the id of an attachment on this node, but it is " + unknown + ".",
                send(unknown, party(recipient)));
    }

    @Test
    void sendingToOneselfIsRefused() throws Exception {
        MockParties.assertFailure(
                "otherPartyName must be a party other than this node, O=Lender, L=London, C=GB.",
                send(upload("own"), party(sender)));
    }

    private static CordaFuture<SignedTransaction> send(SecureHash attachment, Party to) {
        CordaFuture<SignedTransaction> outcome = sender.startFlow(new AttachmentSend(attachment, to));
        network.runNetwork();
        return outcome;
    }

    private static SecureHash upload(String text) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            zip.putNextEntry(new ZipEntry("content"));
            zip.write(text.getBytes("UTF-8"));
        }
        return sender.transaction(() -> {
            try {
                return sender.getServices()
                        .getAttachments()
                        .importAttachment(new ByteArrayInputStream(bytes.toByteArray()), "test", text);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static boolean has(StartedMockNode node, SecureHash attachment) {
        return node.transaction(() -> node.getServices().getAttachments().hasAttachment(attachment));
    }

    private static Party party(StartedMockNode node) {
        return node.getInfo().getLegalIdentities().get(0);
    }
}
