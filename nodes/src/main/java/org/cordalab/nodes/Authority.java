package org.cordalab.nodes;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import javax.security.auth.x500.X500Principal;
import net.corda.core.crypto.Crypto;
import net.corda.core.identity.CordaX500Name;
import net.corda.nodeapi.internal.KeyStoreConfigHelpersKt;
import net.corda.nodeapi.internal.crypto.CertificateAndKeyPair;
import net.corda.nodeapi.internal.crypto.CertificateType;
import net.corda.nodeapi.internal.crypto.X509KeyStore;
import net.corda.nodeapi.internal.crypto.X509Utilities;

/**
 * The certificate authority of a network: its root, the intermediate that certifies nodes, and the passwords of the
 * nodes' key stores.
 */
final class Authority {
    private static final String KEY_STORE = "authority.jks";
    private static final String PASSWORD = "password";
    private static final int PASSWORD_BYTES = 16;
    private static final String SUBJECT = ",OU=Corda Benchmark Lab,O=Corda Benchmark Lab,L=London,C=GB";

    final CertificateAndKeyPair root;
    final CertificateAndKeyPair intermediate;
    final String keyStorePassword;
    final String trustStorePassword;
    /** Whether Corda ships this authority. Everybody has its keys, so nodes accept it only in development mode. */
    final boolean isDevelopment;

    private Authority(
            CertificateAndKeyPair root,
            CertificateAndKeyPair intermediate,
            String keyStorePassword,
            String trustStorePassword,
            boolean isDevelopment) {
        this.root = root;
        this.intermediate = intermediate;
        this.keyStorePassword = keyStorePassword;
        this.trustStorePassword = trustStorePassword;
        this.isDevelopment = isDevelopment;
    }

    /** Returns the authority that Corda ships, with the passwords that a node in development mode expects. */
    static Authority development() {
        return new Authority(
                KeyStoreConfigHelpersKt.getDEV_ROOT_CA(),
                KeyStoreConfigHelpersKt.getDEV_INTERMEDIATE_CA(),
                KeyStoreConfigHelpersKt.DEV_CA_KEY_STORE_PASS,
                KeyStoreConfigHelpersKt.DEV_CA_TRUST_STORE_PASS,
                true);
    }

    /** Returns whether {@code directory} contains an authority of the lab's own. */
    static boolean isIn(Path directory) {
        return Files.exists(directory.resolve(PASSWORD));
    }

    /** Returns the lab's own authority in {@code directory}. Creates it if it does not exist. */
    static Authority own(Path directory) throws IOException {
        if (!isIn(directory)) {
            make(directory);
        }
        String password = new String(Files.readAllBytes(directory.resolve(PASSWORD)), StandardCharsets.UTF_8);
        X509KeyStore store = X509KeyStore.Companion.fromFile(directory.resolve(KEY_STORE), password, false);
        return new Authority(
                store.getCertificateAndKeyPair(X509Utilities.CORDA_ROOT_CA, password),
                store.getCertificateAndKeyPair(X509Utilities.CORDA_INTERMEDIATE_CA, password),
                password,
                password,
                false);
    }

    private static void make(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.deleteIfExists(directory.resolve(KEY_STORE));
        String password = randomPassword();
        KeyPair rootKeys = Crypto.generateKeyPair(X509Utilities.INSTANCE.getDEFAULT_TLS_SIGNATURE_SCHEME());
        X500Principal rootName = new X500Principal("CN=Root CA" + SUBJECT);
        X509Certificate root = X509Utilities.createSelfSignedCACertificate(
                rootName, rootKeys, X509Utilities.INSTANCE.getDEFAULT_VALIDITY_WINDOW());
        KeyPair intermediateKeys = Crypto.generateKeyPair(X509Utilities.INSTANCE.getDEFAULT_TLS_SIGNATURE_SCHEME());
        X509Certificate intermediate = certify(
                CertificateType.INTERMEDIATE_CA,
                new CertificateAndKeyPair(root, rootKeys),
                new X500Principal("CN=Node CA" + SUBJECT),
                intermediateKeys.getPublic());
        X509KeyStore store = X509KeyStore.Companion.fromFile(directory.resolve(KEY_STORE), password, true);
        store.setPrivateKey(
                X509Utilities.CORDA_ROOT_CA, rootKeys.getPrivate(), Collections.singletonList(root), password);
        store.setPrivateKey(
                X509Utilities.CORDA_INTERMEDIATE_CA,
                intermediateKeys.getPrivate(),
                Arrays.asList(intermediate, root),
                password);
        // Written last and atomically, because this file marks the authority as complete.
        Path unfinished = directory.resolve(PASSWORD + ".unfinished");
        Files.write(unfinished, password.getBytes(StandardCharsets.UTF_8));
        Files.move(unfinished, directory.resolve(PASSWORD));
    }

    /** Creates the certificate and keys that sign the network parameters. They are not needed again. */
    CertificateAndKeyPair networkMap() {
        if (isDevelopment) {
            return KeyStoreConfigHelpersKt.createDevNetworkMapCa(root);
        }
        KeyPair keys = Crypto.generateKeyPair();
        return new CertificateAndKeyPair(
                certify(
                        CertificateType.NETWORK_MAP,
                        root,
                        new X500Principal("CN=Network Map" + SUBJECT),
                        keys.getPublic()),
                keys);
    }

    /** Returns the certificate chain for the key of a service that several nodes run together. */
    List<X509Certificate> serviceChain(CordaX500Name name, PublicKey key) {
        X509Certificate certificate =
                certify(CertificateType.SERVICE_IDENTITY, intermediate, name.getX500Principal(), key);
        return Arrays.asList(certificate, intermediate.getCertificate(), root.getCertificate());
    }

    private static X509Certificate certify(
            CertificateType type, CertificateAndKeyPair issuer, X500Principal subject, PublicKey key) {
        return X509Utilities.createCertificate(
                type,
                issuer.getCertificate(),
                issuer.getKeyPair(),
                subject,
                key,
                X509Utilities.INSTANCE.getDEFAULT_VALIDITY_WINDOW(),
                null,
                null,
                null);
    }

    /** Returns 128 random bits as hexadecimal digits. */
    static String randomPassword() {
        byte[] bytes = new byte[PASSWORD_BYTES];
        new SecureRandom().nextBytes(bytes);
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }
}
