package org.cordalab.contracts;

import static java.util.Arrays.asList;
import static net.corda.testing.node.NodeTestUtils.transaction;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.security.PublicKey;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import net.corda.core.crypto.SecureHash;
import net.corda.core.identity.CordaX500Name;
import net.corda.testing.core.TestIdentity;
import net.corda.testing.dsl.TransactionDSL;
import net.corda.testing.node.MockServices;
import org.cordalab.states.AttachmentState;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests each rule of {@link AttachmentContract} with a transaction that breaks only that rule. */
class AttachmentContractTest {
    private static final TestIdentity SENDER = new TestIdentity(new CordaX500Name("Sender", "London", "GB"));
    private static final TestIdentity RECIPIENT = new TestIdentity(new CordaX500Name("Recipient", "Paris", "FR"));
    private static final List<PublicKey> BOTH = asList(SENDER.getPublicKey(), RECIPIENT.getPublicKey());

    private static MockServices services;
    private static SecureHash attachment;

    @BeforeAll
    static void startServices() throws Exception {
        services = new MockServices(asList("org.cordalab.contracts"), SENDER, RECIPIENT);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            zip.putNextEntry(new ZipEntry("content"));
        }
        attachment = services.getAttachments()
                .importAttachment(new ByteArrayInputStream(bytes.toByteArray()), "test", "content.zip");
    }

    @Test
    void acceptsAnAttachmentThatBothSignFor() {
        accepts(tx -> {
            tx.attachment(attachment);
            tx.output(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.command(BOTH, new AttachmentContract.Commands.Send());
        });
    }

    @Test
    void refusesAnAttachmentThatIsNotThere() {
        refuses("The attachment is part of the transaction.", tx -> {
            tx.output(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.command(BOTH, new AttachmentContract.Commands.Send());
        });
    }

    @Test
    void refusesToSendToOneself() {
        refuses("The sender and the recipient are not the same party.", tx -> {
            tx.attachment(attachment);
            tx.output(AttachmentContract.ID, sent(SENDER, SENDER));
            tx.command(BOTH, new AttachmentContract.Commands.Send());
        });
    }

    @Test
    void refusesWhatTheRecipientHasNotSigned() {
        refuses("The sender and the recipient both sign.", tx -> {
            tx.attachment(attachment);
            tx.output(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.command(SENDER.getPublicKey(), new AttachmentContract.Commands.Send());
        });
    }

    @Test
    void refusesTwoAtOnce() {
        refuses("What was sent is the only output.", tx -> {
            tx.attachment(attachment);
            tx.output(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.output(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.command(BOTH, new AttachmentContract.Commands.Send());
        });
    }

    @Test
    void refusesToConsume() {
        refuses("Sending consumes no inputs.", tx -> {
            tx.attachment(attachment);
            tx.input(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.output(AttachmentContract.ID, sent(SENDER, RECIPIENT));
            tx.command(BOTH, new AttachmentContract.Commands.Send());
        });
    }

    private static AttachmentState sent(TestIdentity sender, TestIdentity recipient) {
        return new AttachmentState(attachment, sender.getParty(), recipient.getParty());
    }

    private static void accepts(Consumer<TransactionDSL<?>> script) {
        transaction(services, tx -> {
            script.accept(tx);
            return tx.verifies();
        });
    }

    private static void refuses(String message, Consumer<TransactionDSL<?>> script) {
        transaction(services, tx -> {
            script.accept(tx);
            return tx.failsWith(message);
        });
    }
}
