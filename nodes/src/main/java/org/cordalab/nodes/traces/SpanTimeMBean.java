package org.cordalab.nodes.traces;

/** The spans of one name that have ended. Times are in seconds. */
public interface SpanTimeMBean {
    long getCount();

    double getSeconds();

    /** The time in which no other span of this process was within it. */
    double getSelfSeconds();
}
