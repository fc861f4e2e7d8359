package org.cordalab.nodes.traces;

/** How many spans of this process were written, and how many were lost. */
public interface SpanWriterMBean {
    long getWritten();

    /** Spans that found no place in the queue, or that a file or an endpoint did not take. */
    long getDropped();
}
