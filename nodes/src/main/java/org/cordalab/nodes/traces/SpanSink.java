package org.cordalab.nodes.traces;

import java.io.IOException;

/** Where spans go. */
interface SpanSink {
    /** Takes one OTLP request in JSON. */
    void write(byte[] request) throws IOException;
}
