package org.cordalab.nodes.agent;

import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** Reads single attributes of an MBean. */
final class Attributes {
    private final MBeanServer beans;
    private final ObjectName name;

    Attributes(MBeanServer beans, ObjectName name) {
        this.beans = beans;
        this.name = name;
    }

    /** Returns a numeric attribute; null if the MBean does not tell it, as while the node stops. */
    Long read(String attribute) {
        try {
            Object value = beans.getAttribute(name, attribute);
            return value instanceof Number ? ((Number) value).longValue() : null;
        } catch (JMException | RuntimeException e) {
            return null;
        }
    }
}
