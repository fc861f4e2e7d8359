package org.cordalab.timing;

/** How the rows of {@link StageRows} fare. */
public interface StageRowsMBean {
    /** Rows written since the node started. */
    long getWritten();

    /** Rows given up: the queue or the file was full, or the file could not be written. */
    long getDropped();
}
