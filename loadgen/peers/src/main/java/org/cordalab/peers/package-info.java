/** JMeter's samplers for flows: one opens a connection for each thread, the other starts a flow on it. */
package org.cordalab.peers;
