package org.cordalab.bridge.http;

import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;

/**
 * Rejects requests from web pages of other origins.
 *
 * <p>A browser lets every page send requests to this machine, but sets three of their headers itself. {@code Host} is
 * the name that the page used, which exposes a foreign name that points to this machine (DNS rebinding). {@code Origin}
 * is the page's origin, and {@code Sec-Fetch-Site} is its relation to the bridge. Clients other than browsers send
 * neither of the last two.
 */
final class OriginGuard {

    private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|\\[::1]");

    private static final HeaderName SEC_FETCH_SITE = HeaderNames.create("Sec-Fetch-Site");
    private static final HeaderName SEC_FETCH_MODE = HeaderNames.create("Sec-Fetch-Mode");
    private static final HeaderName SEC_FETCH_DEST = HeaderNames.create("Sec-Fetch-Dest");
    private static final Set<String> OWN_SITE = Set.of("same-origin", "none");
    private static final Set<String> READING_METHODS = Set.of("GET", "HEAD");

    private final Set<String> allowedHosts;

    /**
     * @param allowedHosts hosts allowed in addition to the loopback hosts, in lower case and without a port
     */
    OriginGuard(Set<String> allowedHosts) {
        this.allowedHosts = allowedHosts;
    }

    /**
     * Checks that a request is allowed.
     *
     * @throws Problem unknown-host or foreign-origin if it is not
     */
    void check(Exchange exchange) {
        String authority = exchange.header(HeaderNames.HOST).orElse("").toLowerCase(Locale.ROOT);
        checkHost(authority);
        exchange.header(HeaderNames.ORIGIN).ifPresent(origin -> checkOrigin(origin, authority));
        checkSite(exchange);
    }

    private void checkHost(String authority) {
        String host = withoutPort(authority);
        if (!LOOPBACK.matcher(host).matches() && !allowedHosts.contains(host)) {
            throw new Problem(
                            ProblemType.UNKNOWN_HOST,
                            "The host \"%s\" is not allowed. Use localhost, or add the host to ALLOWED_HOSTS in .env."
                                    .formatted(host))
                    .field("Host");
        }
    }

    /** Compares the port too, because another server on this machine is another origin. */
    private static void checkOrigin(String origin, String authority) {
        String lowerCase = origin.toLowerCase(Locale.ROOT);
        if (!lowerCase.equals("http://" + authority) && !lowerCase.equals("https://" + authority)) {
            throw new Problem(
                            ProblemType.FOREIGN_ORIGIN,
                            "Pages of the origin %s may not use the bridge at %s.".formatted(origin, authority))
                    .field("Origin");
        }
    }

    /**
     * Rejects requests of other sites, unless a user follows a link. A followed link changes nothing, and the page with
     * the link does not see the answer.
     */
    private static void checkSite(Exchange exchange) {
        String site = exchange.header(SEC_FETCH_SITE).orElse("none");
        boolean followsLink = READING_METHODS.contains(exchange.method())
                && exchange.header(SEC_FETCH_MODE).orElse("").equals("navigate")
                && exchange.header(SEC_FETCH_DEST).orElse("").equals("document");
        if (!OWN_SITE.contains(site) && !followsLink) {
            throw new Problem(
                            ProblemType.FOREIGN_ORIGIN,
                            "Pages of other origins may not use the bridge (Sec-Fetch-Site: %s).".formatted(site))
                    .field("Sec-Fetch-Site");
        }
    }

    private static String withoutPort(String authority) {
        int colon = authority.indexOf(':', Math.max(0, authority.indexOf(']')));
        return colon < 0 ? authority : authority.substring(0, colon);
    }
}
