package org.cordalab.nodes;

import com.typesafe.config.Config;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.corda.core.crypto.Crypto;
import net.corda.core.crypto.DigitalSignature;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.PartyAndCertificate;
import net.corda.core.node.NetworkParameters;
import net.corda.core.node.NodeInfo;
import net.corda.core.node.NotaryInfo;
import net.corda.core.serialization.SerializationAPIKt;
import net.corda.core.serialization.SerializationContext;
import net.corda.core.serialization.SerializationFactory;
import net.corda.core.serialization.internal.SerializationEnvironment;
import net.corda.core.serialization.internal.SerializationEnvironmentKt;
import net.corda.core.utilities.NetworkHostAndPort;
import net.corda.nodeapi.internal.KeyStoreConfigHelpersKt;
import net.corda.nodeapi.internal.NodeInfoAndSigned;
import net.corda.nodeapi.internal.config.CertificateStore;
import net.corda.nodeapi.internal.crypto.CertificateAndKeyPair;
import net.corda.nodeapi.internal.crypto.X509KeyStore;
import net.corda.nodeapi.internal.crypto.X509Utilities;
import net.corda.nodeapi.internal.network.NetworkParametersCopier;
import net.corda.serialization.internal.CordaSerializationMagic;
import net.corda.serialization.internal.SerializationFactoryImpl;
import net.corda.serialization.internal.SharedContexts;
import net.corda.serialization.internal.amqp.AbstractAMQPSerializationScheme;
import net.corda.serialization.internal.amqp.SerializerFactory;

/** Creates the signed files of a network with Corda's own classes. */
final class NetworkMaker implements AutoCloseable {
    private static final String IDENTITY_ALIAS = X509Utilities.NODE_IDENTITY_KEY_ALIAS;

    private final Authority authority;

    NetworkMaker(Authority authority) {
        this.authority = authority;
        SerializationFactoryImpl factory = new SerializationFactoryImpl();
        factory.registerScheme(new ParametersScheme());
        SerializationEnvironmentKt.get_contextSerializationEnv()
                .set(SerializationEnvironment.Companion.with(
                        factory, SharedContexts.getAMQP_P2P_CONTEXT(), null, null, null, null, null));
    }

    @Override
    public void close() {
        SerializationEnvironmentKt.get_contextSerializationEnv().set(null);
    }

    /**
     * Creates the key stores of a node in {@code <nodeDirectory>/certificates}.
     *
     * @param services the keys of the services that the node runs together with other nodes; usually empty
     */
    void createKeyStores(Path nodeDirectory, String legalName, List<ServiceKey> services) throws IOException {
        CordaX500Name name = CordaX500Name.parse(legalName);
        Path certificates = Files.createDirectories(nodeDirectory.resolve("certificates"));
        CertificateAndKeyPair nodeCa = KeyStoreConfigHelpersKt.createDevNodeCa(
                authority.intermediate,
                name,
                Crypto.generateKeyPair(X509Utilities.INSTANCE.getDEFAULT_TLS_SIGNATURE_SCHEME()));
        X509Certificate root = authority.root.getCertificate();
        CertificateStore nodeKeys = newStore(certificates.resolve("nodekeystore.jks"));
        KeyStoreConfigHelpersKt.installDevNodeCaCertPath(nodeKeys, name, root, authority.intermediate, nodeCa);
        KeyStoreConfigHelpersKt.storeLegalIdentity(nodeKeys, IDENTITY_ALIAS, Crypto.generateKeyPair());
        for (ServiceKey service : services) {
            service.addTo(nodeKeys.getValue(), authority);
        }
        CertificateStore tlsKeys = newStore(certificates.resolve("sslkeystore.jks"));
        KeyStoreConfigHelpersKt.registerDevP2pCertificates(tlsKeys, name, root, authority.intermediate, nodeCa);
        X509KeyStore trusted = X509KeyStore.Companion.fromFile(
                certificates.resolve("truststore.jks"), authority.trustStorePassword, true);
        trusted.setCertificate(X509Utilities.CORDA_ROOT_CA, root);
    }

    private CertificateStore newStore(Path file) {
        return CertificateStore.Companion.fromFile(file, authority.keyStorePassword, authority.keyStorePassword, true);
    }

    /**
     * Returns the serialised, signed node info by which other nodes find the node.
     *
     * @param platformVersion the platform version of the node, which may be older than the classes used here
     * @param serial the serial number; of several node infos, the one with the largest is used
     */
    byte[] nodeInfo(Path nodeDirectory, String host, int p2pPort, int platformVersion, long serial) {
        X509KeyStore keyStore = nodeKeyStore(nodeDirectory);
        List<PartyAndCertificate> identities = new ArrayList<>();
        Map<PublicKey, PrivateKey> keys = new HashMap<>();
        identities.add(identity(keyStore, IDENTITY_ALIAS));
        keys.put(
                keyStore.getPublicKey(IDENTITY_ALIAS),
                keyStore.getPrivateKey(IDENTITY_ALIAS, authority.keyStorePassword));
        if (keyStore.contains(ServiceKey.ALIAS)) {
            identities.add(serviceIdentity(keyStore));
            keys.put(
                    keyStore.getPublicKey(ServiceKey.ALIAS),
                    keyStore.getPrivateKey(ServiceKey.ALIAS, authority.keyStorePassword));
        }
        NodeInfo nodeInfo = new NodeInfo(
                Collections.singletonList(new NetworkHostAndPort(host, p2pPort)), identities, platformVersion, serial);
        NodeInfoAndSigned signed =
                new NodeInfoAndSigned(nodeInfo, (key, bytes) -> sign(keys.get(key), bytes.getBytes()));
        return SerializationAPIKt.serialize(
                        signed.getSigned(),
                        SerializationFactory.Companion.getDefaultFactory(),
                        SharedContexts.getAMQP_P2P_CONTEXT())
                .getBytes();
    }

    /**
     * Writes {@code <directory>/network-parameters}, signed by a network map certificate of the authority.
     *
     * @param notaryDirectory the directory of the notary's node, or of one of them
     */
    void createNetworkParameters(
            Path directory, Config parameters, int minimumPlatformVersion, Path notaryDirectory, boolean validating) {
        X509KeyStore keyStore = nodeKeyStore(notaryDirectory);
        PartyAndCertificate notary =
                keyStore.contains(ServiceKey.ALIAS) ? serviceIdentity(keyStore) : identity(keyStore, IDENTITY_ALIAS);
        NetworkParameters networkParameters = new NetworkParameters(
                minimumPlatformVersion,
                Collections.singletonList(new NotaryInfo(notary.getParty(), validating)),
                Math.toIntExact(parameters.getBytes("maxMessageSize")),
                Math.toIntExact(parameters.getBytes("maxTransactionSize")),
                Instant.now(),
                1,
                Collections.emptyMap());
        new NetworkParametersCopier(networkParameters, authority.networkMap(), false, false).install(directory);
    }

    private static DigitalSignature sign(PrivateKey key, byte[] bytes) {
        try {
            return new DigitalSignature(Crypto.doSign(key, bytes));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("cannot sign a node info with its new key", e);
        }
    }

    private X509KeyStore nodeKeyStore(Path nodeDirectory) {
        return X509KeyStore.Companion.fromFile(
                nodeDirectory.resolve("certificates/nodekeystore.jks"), authority.keyStorePassword, false);
    }

    private static PartyAndCertificate identity(X509KeyStore keyStore, String alias) {
        return new PartyAndCertificate(X509Utilities.INSTANCE.buildCertPath(keyStore.getCertificateChain(alias)));
    }

    /** Returns the identity that the notary's nodes share: a single key, or the composite of their keys. */
    private static PartyAndCertificate serviceIdentity(X509KeyStore keyStore) {
        if (!keyStore.contains(ServiceKey.COMPOSITE_ALIAS)) {
            return identity(keyStore, ServiceKey.ALIAS);
        }
        List<X509Certificate> chain = new ArrayList<>(keyStore.getCertificateChain(ServiceKey.ALIAS));
        chain.set(0, keyStore.getCertificate(ServiceKey.COMPOSITE_ALIAS));
        return new PartyAndCertificate(X509Utilities.INSTANCE.buildCertPath(chain));
    }

    /** AMQP for the files of the network. RPC is not needed. */
    private static final class ParametersScheme extends AbstractAMQPSerializationScheme {
        ParametersScheme() {
            super(Collections.emptyList());
        }

        @Override
        public boolean canDeserializeVersion(CordaSerializationMagic magic, SerializationContext.UseCase target) {
            return target == SerializationContext.UseCase.P2P;
        }

        @Override
        protected SerializerFactory rpcClientSerializerFactory(SerializationContext context) {
            throw new IllegalStateException("the bootstrapper has no RPC client");
        }

        @Override
        protected SerializerFactory rpcServerSerializerFactory(SerializationContext context) {
            throw new IllegalStateException("the bootstrapper has no RPC server");
        }
    }
}
