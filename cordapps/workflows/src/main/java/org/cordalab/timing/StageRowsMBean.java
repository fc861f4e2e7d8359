package org.cordalab.timing;

/** Counts of the rows of {@link StageRows}, and whether there are any. */
public interface StageRowsMBean {
    /** Returns the number of rows written since the node started. */
    long getWritten();

    /** Returns the number of rows dropped: the queue or the file was full, or the file could not be written. */
    long getDropped();

    /** Returns whether flows are timed. It follows the file that switches the timing off within half a second. */
    boolean isOn();
}
