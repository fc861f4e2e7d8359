package org.cordalab.bridge.http;

import io.helidon.http.HeaderNames;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Optional;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/** Rejects requests without the bearer token, if there is one. The health is open to everyone. */
final class TokenGuard {

    private static final String SCHEME = "bearer ";

    private final Optional<byte[]> token;

    /**
     * @param token empty if no request needs one
     */
    TokenGuard(Optional<String> token) {
        this.token = token.map(text -> text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Checks that a request has the token.
     *
     * @throws Problem unauthorized if it does not
     */
    void check(Exchange exchange) {
        if (token.isEmpty() || exchange.isHealthCheck()) {
            return;
        }
        byte[] given = bearer(exchange.header(HeaderNames.AUTHORIZATION).orElse(""));
        // Takes the same time wherever the two differ.
        if (!MessageDigest.isEqual(token.get(), given)) {
            exchange.challenge();
            throw new Problem(
                            ProblemType.UNAUTHORIZED,
                            "The request needs the bridge's token (BRIDGE_TOKEN): Authorization: Bearer <token>.")
                    .field("Authorization");
        }
    }

    private static byte[] bearer(String authorization) {
        boolean matches = authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
        return (matches ? authorization.substring(SCHEME.length()).strip() : "").getBytes(StandardCharsets.UTF_8);
    }
}
