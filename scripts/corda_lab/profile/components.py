"""The components of a node and of the bridge, and the frames by which a stack is recognised as one of them.

This is the only place that says which code belongs to which component. The innermost frame that belongs to a component
decides, so a SHA-256 hash inside AMQP serialisation is hashing. Where several prefixes fit a frame, the longest one
decides. Classes that everything uses, such as java/util, belong to nothing, so their callers decide.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Component:
    """A component, as an engineer knows it."""

    name: str
    meaning: str
    """What it does, in a few words."""
    frames: tuple[str, ...] = ()
    """Beginnings of the frames that belong to it."""
    threads: str = ""
    """A regular expression for the threads that belong to it with every stack, whatever their frames."""


COMPONENTS = (
    # --- The JVM's own threads. Their frames often have no names: the JVM's library is stripped. ------------------
    Component("C2 compiler", "the JVM compiles hot methods into fast code", threads=r"C2 Compiler.*"),
    Component("C1 compiler", "the JVM compiles methods quickly", threads=r"C1 Compiler.*"),
    Component(
        "garbage collection",
        "the JVM's collector threads",
        threads=r"(GC task thread|Gang worker|GC Thread|G1 |ParGC|Parallel GC|Concurrent Mark|Surrogate Locker).*",
    ),
    Component(
        "VM thread",
        "pauses of the JVM, and the whole work of the serial collector",
        threads=r"VM Thread|VM Operation.*",
    ),
    Component(
        "other JVM threads",
        "references, finalizers, signals, attaching, the profiler itself",
        threads=r"(VM Periodic|Signal Dispatcher|Service Thread|Sweeper|Attach Listener|Monitor Deflation|Notification"
        r"|Reference Handler|Finalizer|Common-Cleaner|Async-profiler).*",
    ),
    # --- Flows: fibers and their checkpoints --------------------------------------------------------------------------
    Component(
        "Quasar instrumentation",
        "Quasar checks on each suspension that every class of the stack is instrumented, and instruments new classes",
        (
            "co/paralleluniverse/fibers/Fiber.checkInstrumentation",
            "co/paralleluniverse/fibers/Fiber.verifySuspend",
            "co/paralleluniverse/fibers/SuspendableHelper",
            "co/paralleluniverse/fibers/instrument/",
            "co/paralleluniverse/asm/",
            "co/paralleluniverse/common/asm/",
            "co/paralleluniverse/common/reflection/",
        ),
    ),
    Component("Quasar fibers", "runs and parks the fibers of flows", ("co/paralleluniverse/",)),
    Component(
        "checkpoint serialisation",
        "Kryo writes and reads the checkpoints of flows",
        (
            "com/esotericsoftware/",
            "de/javakaffee/kryoserializers/",
            "co/paralleluniverse/io/serialization/",
            "net/corda/core/internal/Checkpoint",
            "net/corda/core/serialization/internal/Checkpoint",
            "net/corda/node/serialization/kryo/",
            "net/corda/node/services/persistence/DBCheckpoint",
            "net/corda/node/services/statemachine/CheckpointChecker",
            "net/corda/nodeapi/internal/serialization/kryo/",
            "net/corda/serialization/internal/Checkpoint",
        ),
    ),
    Component(
        "flow state machine",
        "Corda's bookkeeping of flows, sessions and their transitions",
        ("net/corda/node/services/statemachine/",),
    ),
    Component(
        "flows",
        "the code of the flows themselves, and of the library flows that they call",
        ("net/corda/core/flows/", "net/corda/finance/flows/", "net/corda/finance/workflows/", "org/cordalab/flows/"),
    ),
    # --- Transactions -------------------------------------------------------------------------------------------------
    Component(
        "AMQP serialisation",
        "writes and reads transactions, messages and RPC calls",
        (
            "net/corda/core/serialization/",
            "net/corda/nodeapi/internal/serialization/",
            "net/corda/serialization/",
            "org/apache/qpid/proton/",
        ),
    ),
    Component(
        "signatures",
        "EdDSA, ECDSA and RSA: signs and verifies, and encodes keys",
        (
            "java/security/Signature",
            "net/corda/core/crypto/",
            "net/i2p/crypto/eddsa/",
            "org/bouncycastle/",
            "sun/security/ec/",
            "sun/security/rsa/",
        ),
    ),
    Component(
        "hashing",
        "SHA-256 of transactions, Merkle trees and attachments",
        (
            "java/security/MessageDigest",
            "net/corda/core/crypto/DigestService",
            "net/corda/core/crypto/MerkleTree",
            "net/corda/core/crypto/PartialMerkleTree",
            "net/corda/core/crypto/SecureHash",
            "net/corda/core/crypto/internal/DigestAlgorithm",
            "sun/security/provider/DigestBase",
            "sun/security/provider/SHA",
        ),
    ),
    Component(
        "contract verification",
        "runs the contracts, in a class loader of the transaction's attachments",
        (
            "net/corda/core/internal/AbstractVerifier",
            "net/corda/core/internal/ContractVerifier",
            "net/corda/core/internal/TransactionVerifier",
            "net/corda/core/internal/Verifier",
            "net/corda/core/serialization/internal/Attachment",
            "net/corda/core/transactions/LedgerTransaction.verify",
            "net/corda/finance/contracts/",
            "net/corda/node/internal/cordapp/",
            "net/corda/node/services/attachments/",
            "net/corda/node/services/transactions/InMemoryTransactionVerifier",
            "org/cordalab/contracts/",
        ),
    ),
    Component(
        "transactions",
        "builds, resolves and keeps transactions and attachments",
        (
            "net/corda/core/contracts/",
            "net/corda/core/internal/FetchDataFlow",
            "net/corda/core/internal/ResolveTransactions",
            "net/corda/core/internal/ServiceHubCoreInternal",
            "net/corda/core/internal/TransactionsResolver",
            "net/corda/core/transactions/",
            "net/corda/node/services/DbTransactionsResolver",
            "net/corda/node/services/api/ServiceHub",
            "net/corda/node/services/persistence/",
        ),
    ),
    Component(
        "vault",
        "records states, queries them and selects coins",
        ("net/corda/node/services/vault/", "net/corda/core/node/services/vault/"),
    ),
    Component(
        "notary",
        "the uniqueness provider: which transaction consumed a state first",
        (
            "bftsmart/",
            "io/atomix/",
            "net/corda/core/internal/notary/",
            "net/corda/node/services/transactions/",
            "net/corda/notary/",
        ),
    ),
    # --- Database -----------------------------------------------------------------------------------------------------
    Component(
        "Hibernate and transactions",
        "object-relational mapping, database transactions, the connection pool",
        (
            "com/zaxxer/hikari/",
            "javax/persistence/",
            "net/corda/node/utilities/AppendOnlyPersistentMap",
            "net/corda/node/utilities/NonInvalidating",
            "net/corda/node/utilities/PersistentMap",
            "net/corda/node/utilities/WeightBased",
            "net/corda/nodeapi/internal/persistence/",
            "org/hibernate/",
        ),
    ),
    Component("H2", "the database inside the node: statements, pages, writes to disk", ("org/h2/",)),
    Component("PostgreSQL driver", "statements and their results, and the wait for them", ("org/postgresql/",)),
    Component("Liquibase", "creates and checks tables", ("liquibase/",)),
    # --- Messages -----------------------------------------------------------------------------------------------------
    Component(
        "Artemis journal",
        "the message broker writes its messages to disk",
        (
            "org/apache/activemq/artemis/core/io/",
            "org/apache/activemq/artemis/core/journal/",
            "org/apache/activemq/artemis/core/persistence/",
            "org/apache/activemq/artemis/jdbc/",
            "org/apache/activemq/artemis/nativo/",
        ),
    ),
    Component("Artemis messaging", "the message broker and its clients", ("org/apache/activemq/",)),
    Component(
        "TLS",
        "encrypts connections, and checks certificates",
        (
            "com/amazon/corretto/crypto/",
            "com/sun/crypto/provider/",
            "com/sun/net/ssl/",
            "io/netty/handler/ssl/",
            "java/security/cert/",
            "javax/crypto/",
            "javax/net/ssl/",
            "sun/security/provider/certpath/",
            "sun/security/ssl/",
            "sun/security/validator/",
            "sun/security/x509/",
        ),
    ),
    Component("Netty", "reads from and writes to connections", ("io/netty/",)),
    Component(
        "peer-to-peer messaging",
        "Corda's queues to other nodes, with their retries and deduplication",
        (
            "net/corda/node/services/messaging/",
            "net/corda/nodeapi/internal/bridging/",
            "net/corda/nodeapi/internal/protonwrapper/",
        ),
    ),
    Component(
        "RPC server",
        "Corda's side of the RPC calls that reach the node",
        (
            "net/corda/node/internal/CordaRPCOps",
            "net/corda/node/internal/rpc/",
            "net/corda/node/internal/security/",
            "net/corda/node/services/messaging/RPC",
            "net/corda/node/services/rpc/",
        ),
    ),
    Component("RPC client", "Corda's client library", ("net/corda/client/rpc/",)),
    Component(
        "RPC messages",
        "turns RPC calls and their results into messages, on both sides",
        ("net/corda/nodeapi/RPCApi", "net/corda/nodeapi/internal/rpc/"),
    ),
    # --- The bridge ---------------------------------------------------------------------------------------------------
    Component("bridge", "the code of the bridge itself", ("org/cordalab/bridge/",)),
    Component("HTTP server", "Helidon, which serves the bridge's API", ("io/helidon/",)),
    Component(
        "JSON",
        "Jackson reads arguments and writes results",
        ("com/fasterxml/jackson/", "net/corda/client/jackson/", "net/corda/jackson/"),
    ),
    # --- Around them --------------------------------------------------------------------------------------------------
    Component(
        "logging",
        "Log4j or Logback formats and writes lines, and runs the script in Corda's log configuration",
        (
            "ch/qos/logback/",
            "com/lmax/disruptor/",
            "jdk/nashorn/",
            "net/corda/node/services/logging/",
            "net/corda/node/services/statemachine/FlowStateMachineImpl.setLoggingContext",
            "net/corda/node/utilities/logging/",
            "org/apache/log4j/",
            "org/apache/logging/",
            "org/slf4j/",
        ),
    ),
    Component(
        "metrics and the JMX exporter",
        "counts what happens in the JVM, and serves it to Prometheus",
        (
            "com/codahale/metrics/",
            "com/sun/jmx/",
            "com/sun/management/",
            "com/sun/net/httpserver/",
            "io/prometheus/",
            "javax/management/",
            "org/apache/activemq/artemis/core/management/",
            "org/cordalab/nodes/agent/",
            "sun/management/",
            "sun/net/httpserver/",
        ),
    ),
    Component(
        "class loading",
        "finds, reads and defines classes",
        (
            "java/lang/Class.forName",
            "java/lang/ClassLoader.defineClass",
            "java/lang/ClassLoader.findClass",
            "java/lang/ClassLoader.loadClass",
            "java/net/URLClassLoader",
            "jdk/internal/loader/",
            "sun/instrument/",
            "sun/misc/Launcher",
            "sun/misc/URLClassPath",
        ),
    ),
    Component("caches", "Caffeine: keeps what was read, and removes the oldest", ("com/github/benmanes/caffeine/",)),
    Component("observables", "RxJava: the node's own streams of updates", ("rx/",)),
    Component("other Corda code", "Corda code that belongs to no other component", ("net/corda/",)),
    Component("other code of the lab", "flows and metrics of the lab's CorDapp", ("org/cordalab/",)),
)

IDLE_THREADS = re.compile("main")
"""Threads that are idle in every stack that waits. That of `main` waits for the end of the node."""

IDLE_FRAMES = (
    "co/paralleluniverse/concurrent/util/",
    "co/paralleluniverse/fibers/FiberTimedScheduler",
    "com/lmax/disruptor/",
    "io/netty/channel/epoll/EpollEventLoop.epollWait",
    "io/netty/channel/nio/NioEventLoop.select",
    "io/netty/util/HashedWheelTimer$Worker.waitForNextTick",
    "java/lang/ref/ReferenceQueue.remove",
    "java/net/ServerSocket.accept",
    "java/util/TimerThread.mainLoop",
    "java/util/concurrent/ArrayBlockingQueue.",
    "java/util/concurrent/DelayQueue.",
    "java/util/concurrent/ForkJoinPool.awaitWork",
    "java/util/concurrent/LinkedBlockingDeque.",
    "java/util/concurrent/LinkedBlockingQueue.",
    "java/util/concurrent/LinkedTransferQueue.",
    "java/util/concurrent/PriorityBlockingQueue.",
    "java/util/concurrent/ThreadPoolExecutor.getTask",
    "net/corda/node/services/events/NodeSchedulerService",
    "org/apache/activemq/artemis/core/io/buffer/TimedBuffer$CheckTimer.",
    "org/apache/activemq/artemis/core/remoting/server/impl/RemotingServiceImpl$FailureCheckAndFlushThread.",
    "sun/nio/ch/SelectorImpl.",
    "sun/nio/ch/ServerSocketChannelImpl.accept",
)
"""A thread that waits below one of these frames has nothing to do. Any other thread waits in the middle of its work."""


@dataclass(frozen=True)
class State:
    """What a thread was doing when a sample of the wall clock was taken."""

    name: str
    frames: tuple[str, ...]
    """Beginnings of the innermost frames that show it."""


RUNNING = State("running, or waiting for a core", ())
PARKED = State(
    "parked or waiting for another thread",
    (
        "__futex",
        "__pthread_cond",
        "futex",
        "java/lang/Object.wait",
        "jdk/internal/misc/Unsafe.park",
        "pthread_cond",
        "sem_",
        "sun/misc/Unsafe.park",
    ),
)
STATES = (
    State(
        "waiting for a disk",
        ("fsync", "fdatasync", "msync", "sun/nio/ch/FileDispatcherImpl.force", "java/io/FileDescriptor.sync"),
    ),
    State(
        "waiting for a connection",
        (
            "accept",
            "epoll_wait",
            "poll",
            "recv",
            "__libc_recv",
            "io/netty/channel/epoll/Native.epollWait",
            "java/net/PlainSocketImpl.socketAccept",
            "java/net/SocketInputStream.socketRead0",
            "sun/nio/ch/EPoll",
            "sun/nio/ch/Net.poll",
            "sun/nio/ch/SocketDispatcher.read",
        ),
    ),
    State("sleeping", ("java/lang/Thread.sleep", "nanosleep", "clock_nanosleep", "__clock_nanosleep")),
    PARKED,
)
"""The states of waiting threads. All other threads are `RUNNING`."""

STATE_FRAMES_MAX = 8
"""So many innermost frames are searched for a state: the Java method that waits, and the native functions below it."""

C_LIBRARY = "/libc.so.6"
"""A thread without Java frames waits if its innermost frame has no better name than this."""

GENERAL = ("java/", "javax/", "jdk/", "kotlin/", "sun/", "com/sun/", "com/google/", "org/apache/commons/")
"""Packages that everything uses. A frame of another package names a stack that belongs to no component."""

JDK = Component("other Java code", "code of the JDK that belongs to no component")
NATIVE = Component("native code", "code outside Java, without a Java method that called it")
