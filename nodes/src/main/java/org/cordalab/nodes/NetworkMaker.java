package org.cordalab.nodes;

import com.typesafe.config.Config;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.cert.CertPath;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import net.corda.core.crypto.Crypto;
import net.corda.core.crypto.DigitalSignature;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.identity.Party;
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
import net.corda.nodeapi.internal.DevIdentityGenerator;
import net.corda.nodeapi.internal.KeyStoreConfigHelpersKt;
import net.corda.nodeapi.internal.NodeInfoAndSigned;
import net.corda.nodeapi.internal.crypto.CertificateAndKeyPair;
import net.corda.nodeapi.internal.crypto.X509KeyStore;
import net.corda.nodeapi.internal.crypto.X509Utilities;
import net.corda.nodeapi.internal.network.NetworkParametersCopier;
import net.corda.serialization.internal.CordaSerializationMagic;
import net.corda.serialization.internal.SerializationFactoryImpl;
import net.corda.serialization.internal.SharedContexts;
import net.corda.serialization.internal.amqp.AbstractAMQPSerializationScheme;
import net.corda.serialization.internal.amqp.SerializerFactory;

/** Makes the signed files of a development network with Corda's own classes. */
final class NetworkMaker implements AutoCloseable {
    /** Alias and password are those that a node in development mode expects; the lab binds to loopback. */
    private static final String KEY_STORE_PASSWORD = KeyStoreConfigHelpersKt.DEV_CA_KEY_STORE_PASS;

    private static final String IDENTITY_ALIAS = X509Utilities.NODE_IDENTITY_KEY_ALIAS;

    NetworkMaker() {
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

    /** A notary of the network: the directory with its {@code certificates}, and whether it validates. */
    static final class Notary {
        final Path nodeDirectory;
        final boolean validating;

        Notary(Path nodeDirectory, boolean validating) {
            this.nodeDirectory = nodeDirectory;
            this.validating = validating;
        }
    }

    /**
     * Makes the key stores of a node in {@code <nodeDirectory>/certificates}.
     *
     * @param platformVersion of the node that will use them, which may be older than the classes used here
     * @return the serialised, signed node info that other nodes find it by
     */
    byte[] createIdentity(Path nodeDirectory, String legalName, String host, int p2pPort, int platformVersion)
            throws IOException {
        DevIdentityGenerator.INSTANCE.installKeyStoreWithNodeIdentity(nodeDirectory, CordaX500Name.parse(legalName));
        Files.copy(
                NetworkMaker.class.getClassLoader().getResourceAsStream("certificates/cordatruststore.jks"),
                nodeDirectory.resolve("certificates/truststore.jks"));
        X509KeyStore keyStore = nodeKeyStore(nodeDirectory);
        KeyPair keyPair = keyStore.getCertificateAndKeyPair(IDENTITY_ALIAS, KEY_STORE_PASSWORD)
                .getKeyPair();
        NodeInfo nodeInfo = new NodeInfo(
                Collections.singletonList(new NetworkHostAndPort(host, p2pPort)),
                Collections.singletonList(identity(keyStore)),
                platformVersion,
                Instant.now().toEpochMilli());
        NodeInfoAndSigned signed =
                new NodeInfoAndSigned(nodeInfo, (key, bytes) -> sign(keyPair.getPrivate(), bytes.getBytes()));
        return SerializationAPIKt.serialize(
                        signed.getSigned(),
                        SerializationFactory.Companion.getDefaultFactory(),
                        SharedContexts.getAMQP_P2P_CONTEXT())
                .getBytes();
    }

    /** Writes {@code <directory>/network-parameters}, signed by a network map certificate of the development root. */
    void createNetworkParameters(Path directory, Config parameters, List<Notary> notaries) {
        List<NotaryInfo> notaryInfos = new ArrayList<>();
        for (Notary notary : notaries) {
            Party party = identity(nodeKeyStore(notary.nodeDirectory)).getParty();
            notaryInfos.add(new NotaryInfo(party, notary.validating));
        }
        NetworkParameters networkParameters = new NetworkParameters(
                parameters.getInt("minimumPlatformVersion"),
                notaryInfos,
                Math.toIntExact(parameters.getBytes("maxMessageSize")),
                Math.toIntExact(parameters.getBytes("maxTransactionSize")),
                Instant.now(),
                1,
                Collections.emptyMap());
        CertificateAndKeyPair networkMapCa =
                KeyStoreConfigHelpersKt.createDevNetworkMapCa(KeyStoreConfigHelpersKt.getDEV_ROOT_CA());
        new NetworkParametersCopier(networkParameters, networkMapCa, false, false).install(directory);
    }

    private static DigitalSignature sign(PrivateKey key, byte[] bytes) {
        try {
            return new DigitalSignature(Crypto.doSign(key, bytes));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("cannot sign a node info with the key just made", e);
        }
    }

    private static X509KeyStore nodeKeyStore(Path nodeDirectory) {
        return X509KeyStore.Companion.fromFile(
                nodeDirectory.resolve("certificates/nodekeystore.jks"), KEY_STORE_PASSWORD, false);
    }

    private static PartyAndCertificate identity(X509KeyStore keyStore) {
        List<X509Certificate> chain = keyStore.getCertificateChain(IDENTITY_ALIAS);
        CertPath certPath = X509Utilities.INSTANCE.buildCertPath(chain);
        return new PartyAndCertificate(certPath);
    }

    /** AMQP for the files of the network; nothing here speaks RPC. */
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
