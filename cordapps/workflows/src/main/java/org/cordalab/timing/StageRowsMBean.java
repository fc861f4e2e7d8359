package org.cordalab.timing;

/** Counts of the rows of {@link StageRows}. */
public interface StageRowsMBean {
    /** Returns the number of rows written since the node started. */
    long getWritten();

    /** Returns the number of rows dropped: the queue or the file was full, or the file could not be written. */
    long getDropped();
}
