package org.cordalab.nodes;

import java.security.KeyPair;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import net.corda.core.crypto.CompositeKey;
import net.corda.core.crypto.Crypto;
import net.corda.core.identity.CordaX500Name;
import net.corda.nodeapi.internal.crypto.X509KeyStore;
import net.corda.nodeapi.internal.crypto.X509Utilities;

/** One node's key for a service that several nodes run together: a notary cluster. */
final class ServiceKey {
    static final String ALIAS = X509Utilities.DISTRIBUTED_NOTARY_KEY_ALIAS;
    static final String COMPOSITE_ALIAS = X509Utilities.DISTRIBUTED_NOTARY_COMPOSITE_KEY_ALIAS;

    private final CordaX500Name name;
    private final KeyPair keys;
    private final PublicKey composite;

    private ServiceKey(CordaX500Name name, KeyPair keys, PublicKey composite) {
        this.name = name;
        this.keys = keys;
        this.composite = composite;
    }

    /** Returns the same key for each of {@code count} nodes. Any one of them signs for all. */
    static List<ServiceKey> shared(String legalName, int count) {
        return Collections.nCopies(
                count, new ServiceKey(CordaX500Name.parse(legalName), Crypto.generateKeyPair(), null));
    }

    /** Returns one key for each of {@code count} nodes. Any {@code threshold} of them together sign for all. */
    static List<ServiceKey> composite(String legalName, int count, int threshold) {
        List<KeyPair> pairs = new ArrayList<>();
        CompositeKey.Builder builder = new CompositeKey.Builder();
        for (int index = 0; index < count; index++) {
            KeyPair pair = Crypto.generateKeyPair();
            pairs.add(pair);
            builder.addKey(pair.getPublic(), 1);
        }
        PublicKey composite = builder.build(threshold);
        List<ServiceKey> made = new ArrayList<>();
        for (KeyPair pair : pairs) {
            made.add(new ServiceKey(CordaX500Name.parse(legalName), pair, composite));
        }
        return made;
    }

    void addTo(X509KeyStore store, Authority authority) {
        store.setPrivateKey(
                ALIAS, keys.getPrivate(), authority.serviceChain(name, keys.getPublic()), authority.keyStorePassword);
        if (composite != null) {
            store.setCertificate(
                    COMPOSITE_ALIAS, authority.serviceChain(name, composite).get(0));
        }
    }
}
