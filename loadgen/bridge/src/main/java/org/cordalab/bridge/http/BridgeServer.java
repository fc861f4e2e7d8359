package org.cordalab.bridge.http;

import io.helidon.http.DirectHandler;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Method;
import io.helidon.http.RequestException;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.ListenerConfig;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.DirectHandlers;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http1.Http1Config;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.cordalab.bridge.BridgedNodes;
import org.cordalab.bridge.config.BridgeConfig;
import org.cordalab.bridge.json.Json;
import org.cordalab.bridge.metrics.BridgeMetrics;
import org.cordalab.bridge.problem.Problem;
import org.cordalab.bridge.problem.ProblemType;
import org.cordalab.bridge.stub.StubNetwork;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP server: routes, errors, limits. Each request runs on its own virtual thread, which may block. */
public final class BridgeServer implements AutoCloseable {

    /** Twice what clients of the lab send. Each connection may hold as much. */
    private static final int MAX_HEADERS_BYTES = 8 * 1024;

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);
    /** All requests have been answered by now. This is for responses that are still being written. */
    private static final Duration STOP_GRACE = Duration.ofSeconds(1);

    private static final String UNMATCHED = "unmatched";
    private static final String METRICS = "metrics";
    /** Connections of Prometheus, and of a second one. */
    private static final int METRICS_CONNECTIONS = 16;
    /** Their memory. A page has less than 100 KiB. What clients take of the bridge must not hide it from Prometheus. */
    private static final long METRICS_BYTES = 2 * 1024 * 1024;

    private static final Logger LOG = LoggerFactory.getLogger(BridgeServer.class);

    private final BridgeMetrics metrics;
    private final OriginGuard guard;
    private final TokenGuard token;
    private final MemoryBudget budget;
    private final ClientConnections connections;
    private final ClientConnections scrapes;
    private final MemoryBudget scrapeBudget = new MemoryBudget(METRICS_BYTES);
    private final OperationsRoutes operations;
    private final WebServer server;
    /** Method and path of each route, as the description must have them. */
    private final Set<String> routes = new TreeSet<>();

    /**
     * @param stub the network of the nodes, if they are stub nodes
     */
    public BridgeServer(BridgeConfig config, BridgedNodes nodes, BridgeMetrics metrics, Optional<StubNetwork> stub) {
        this.metrics = metrics;
        this.guard = new OriginGuard(config.allowedHosts());
        this.token = new TokenGuard(config.token());
        this.budget = new MemoryBudget(config.limits().requestBudgetBytes());
        this.connections =
                new ClientConnections(config.limits(), config.limits().maxConnections(), http());
        this.scrapes = new ClientConnections(config.limits(), METRICS_CONNECTIONS, http());
        this.operations = new OperationsRoutes(nodes, metrics);
        metrics.watchServer(
                connections::count,
                config.limits().maxConnections(),
                budget::used,
                config.limits().requestBudgetBytes());
        var builder = WebServer.builder();
        config.metricsPort().ifPresent(port -> builder.putSocket(METRICS, metricsListener(config, port)));
        this.server = builder.address(config.address())
                .port(config.port())
                // Main stops the server after it has drained the outstanding flows.
                .shutdownHook(false)
                .shutdownGracePeriod(STOP_GRACE)
                .maxTcpConnections(config.limits().maxConnections() + ClientConnections.SPARE)
                .maxPayloadSize(Math.max(RequestBody.MAX_DISCARDED_BYTES, config.maxAttachmentBytes()))
                .connectionOptions(options -> options.tcpNoDelay(true))
                // Helidon adds no protocol of its own to this one.
                .protocolsDiscoverServices(false)
                .addConnectionSelector(connections)
                .directHandlers(problemHandlers(connections))
                .routing(routing(config, nodes, stub))
                .build();
    }

    /** Opens the port and starts to serve requests. */
    public BridgeServer start() {
        server.start();
        return this;
    }

    private static Http1Config http() {
        return Http1Config.builder()
                .sendKeepAliveHeader(false)
                .maxHeadersSize(MAX_HEADERS_BYTES)
                .build();
    }

    /**
     * Returns a second port, which has only the metrics, without a token. In the lab, it is not published, and
     * Prometheus reads them there.
     */
    private ListenerConfig metricsListener(BridgeConfig config, int port) {
        var routing = HttpRouting.builder();
        Route open = exchange -> {
            guard.check(exchange);
            operations.metrics(exchange);
        };
        routing.route(Method.GET, "/metrics", handler(scrapes, scrapeBudget, "/metrics", open));
        routing.any(handler(scrapes, scrapeBudget, UNMATCHED, exchange -> {
            throw new Problem(ProblemType.NOT_FOUND, "This port has only GET /metrics.");
        }));
        return ListenerConfig.builder()
                .address(config.address())
                .port(port)
                .shutdownGracePeriod(STOP_GRACE)
                .maxTcpConnections(METRICS_CONNECTIONS + ClientConnections.SPARE)
                .protocolsDiscoverServices(false)
                .addConnectionSelector(scrapes)
                .directHandlers(problemHandlers(scrapes))
                .routing(routing)
                .build();
    }

    /** Returns method, path and query parameters of each route, such as {@code GET /v1/nodes[]}. */
    Set<String> routes() {
        return routes;
    }

    /** Returns the port that has only the metrics. */
    public int metricsPort() {
        return server.port(METRICS);
    }

    /** Returns the port that the server listens on. */
    public int port() {
        return server.port();
    }

    /** Declares that the bridge is not ready any more, because it is about to stop. */
    public void drain() {
        operations.drain();
    }

    /** Closes the port and the connections. */
    @Override
    public void close() {
        server.stop();
        connections.close();
        scrapes.close();
    }

    private HttpRouting.Builder routing(BridgeConfig config, BridgedNodes nodes, Optional<StubNetwork> stub) {
        var outcomes = new OutcomeRoutes(nodes, config.outcomeRetention());
        var flows = new FlowRoutes(nodes, config, metrics, outcomes);
        var aboutNodes = new NodeRoutes(nodes);
        var vaults = new VaultRoutes(nodes);
        var attachments = new AttachmentRoutes(nodes, config.maxAttachmentBytes());
        var routing = HttpRouting.builder();
        route(routing, "/health/live", Method.GET, operations::live);
        route(routing, "/health/ready", Method.GET, operations::ready);
        route(routing, "/metrics", Method.GET, operations::metrics);
        route(routing, "/openapi.json", Method.GET, operations::openApi);
        route(routing, "/v1/nodes", Method.GET, aboutNodes::list);
        route(routing, "/v1/nodes/{node}/parties", Method.GET, aboutNodes::parties);
        route(routing, "/v1/nodes/{node}/vault/count", Method.GET, vaults::countStates, "stateType");
        route(routing, "/v1/nodes/{node}/vault/changes", Method.GET, vaults::changes, "since");
        String transactionsPath = "/v1/nodes/{node}/vault/transactions";
        route(routing, transactionsPath, Method.GET, vaults::transactions, "stateType", "since", "page", "pageSize");
        route(routing, "/v1/nodes/{node}/attachments", Method.POST, attachments::upload, "name");
        route(routing, "/v1/nodes/{node}/attachments/{id}", Method.GET, attachments::find);
        route(routing, "/v1/nodes/{node}/flows/{clientId}", Method.GET, outcomes::find);
        String flowsPath = "/v1/nodes/{node}/flows";
        add(routing, flowsPath, Method.GET, flows::list);
        add(routing, flowsPath, Method.POST, flows::post, "check");
        add(routing, flowsPath, Method.DELETE, outcomes::forget, "clientIdPrefix");
        routing.any(flowsPath, methodNotAllowed(flowsPath, "GET, POST, DELETE"));
        stub.ifPresent(network -> {
            var truth = new StubRoutes(nodes, network);
            route(routing, "/v1/stub/flows", Method.GET, truth::flows);
            route(routing, "/v1/stub/nodes/{node}/metrics", Method.GET, truth::metrics);
        });
        routing.any(handler(UNMATCHED, exchange -> {
            throw new Problem(ProblemType.NOT_FOUND, "Unknown path; /openapi.json lists all paths.");
        }));
        return routing;
    }

    private void route(HttpRouting.Builder routing, String path, Method method, Route route, String... parameters) {
        add(routing, path, method, route, parameters);
        routing.any(path, methodNotAllowed(path, method.text()));
    }

    /** Adds an operation with all query parameters that it has. A misspelt one must not be left out silently. */
    private void add(HttpRouting.Builder routing, String path, Method method, Route route, String... parameters) {
        var known = new TreeSet<>(List.of(parameters));
        routes.add(method.text() + " " + path + known);
        routing.route(method, path, handler(path, exchange -> {
            exchange.requireParameters(known);
            route.handle(exchange);
        }));
    }

    private Handler methodNotAllowed(String path, String allowed) {
        return handler(path, exchange -> {
            exchange.allow(allowed);
            throw new Problem(ProblemType.METHOD_NOT_ALLOWED, "This path accepts only %s.".formatted(allowed));
        });
    }

    private Handler handler(String path, Route route) {
        return handler(connections, budget, path, exchange -> {
            guard.check(exchange);
            token.check(exchange);
            route.handle(exchange);
        });
    }

    private Handler handler(ClientConnections clients, MemoryBudget memory, String path, Route route) {
        return (request, response) -> {
            try (var exchange = new Exchange(request, response, clients.current(), memory)) {
                try {
                    answer(exchange, path, route);
                } finally {
                    metrics.httpRequest(exchange.status(), path);
                }
                if (exchange.endsConnection()) {
                    // Helidon leaves it to the client to close the connection. A client that is sending a body that no
                    // one reads would not close it.
                    throw new CloseConnectionException("The response closes the connection");
                }
                exchange.end();
            }
        };
    }

    private void answer(Exchange exchange, String path, Route route) throws InterruptedException {
        try {
            checkConnection(exchange);
            exchange.requireDecodable();
            route.handle(exchange);
        } catch (Problem problem) {
            exchange.send(problem);
        } catch (RequestException | CloseConnectionException | UncheckedIOException transportFailure) {
            // The client disconnected or violated the protocol, which Helidon handles.
            throw transportFailure;
        } catch (RuntimeException | StackOverflowError e) {
            LOG.error("Failed to answer {}", path, e);
            exchange.send(new Problem(ProblemType.INTERNAL_ERROR, "The bridge failed: " + e));
        }
    }

    /** Beyond the limit of connections, answers only what everyone may ask, and closes the connection. */
    private static void checkConnection(Exchange exchange) {
        if (!exchange.isOnSpareConnection()) {
            return;
        }
        exchange.endConnection();
        if (!exchange.isHealthCheck()) {
            throw new Problem(
                            ProblemType.OVERLOADED,
                            "The bridge has as many connections as it accepts (BRIDGE_MAX_CONNECTIONS). Nothing was"
                                    + " started.")
                    .retryAfter(RETRY_AFTER);
        }
    }

    /** Gives errors that Helidon finds before routing the same form as all other errors. */
    private static DirectHandlers problemHandlers(ClientConnections clients) {
        var handlers = DirectHandlers.builder();
        for (DirectHandler.EventType event : DirectHandler.EventType.values()) {
            handlers.addHandler(event, (request, type, status, headers, message) -> {
                Problem problem = clients.current().isReadingHead()
                        ? headProblem(status, message)
                        : transportProblem(status, message);
                headers.set(HeaderNames.CONTENT_TYPE, Problem.MEDIA_TYPE);
                headers.set(HeaderValues.CONNECTION_CLOSE);
                return DirectHandler.TransportResponse.builder()
                        .status(Status.create(problem.type().status()))
                        .headers(ServerResponseHeaders.create(headers))
                        .keepAlive(false)
                        .entity(Json.write(problem.toJson(request.path())))
                        .build();
            });
        }
        return handlers.build();
    }

    /** Helidon calls some mistakes in the first lines of a request errors of its own, or versions of HTTP unknown. */
    private static Problem headProblem(Status status, String message) {
        return status.code() < 500
                ? transportProblem(status, message)
                : new Problem(
                        ProblemType.INVALID_REQUEST,
                        "The request line or a header is not valid, or the version is not HTTP/1.1.");
    }

    private static Problem transportProblem(Status status, String message) {
        String detail = message == null || message.isBlank() ? status.reasonPhrase() : message;
        if (status.code() == ProblemType.BODY_TOO_LARGE.status()) {
            return new Problem(ProblemType.BODY_TOO_LARGE, "The body is too long.");
        }
        return new Problem(status.code() >= 500 ? ProblemType.INTERNAL_ERROR : ProblemType.INVALID_REQUEST, detail);
    }

    @FunctionalInterface
    private interface Route {
        void handle(Exchange exchange) throws InterruptedException;
    }
}
