package org.cordalab.nodes.agent;

import java.util.Optional;
import java.util.regex.Pattern;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerDelegate;
import javax.management.MBeanServerNotification;
import javax.management.Notification;
import javax.management.NotificationListener;
import javax.management.ObjectName;

/**
 * Registers a small MBean for each message broker of the node, and for each queue whose name is known in advance.
 *
 * <p>Before it reads an MBean, the exporter asks for all its attributes and operations. Those of Artemis have hundreds,
 * and describe them anew each time by reflection, which was most of the CPU time of a scrape.
 */
final class MessageBrokers implements NotificationListener {
    private static final String DOMAIN = "org.apache.activemq.artemis";

    /** The queues of messages to the node and to its peers, and of RPC requests. RPC clients have one each, too. */
    private static final Pattern QUEUES =
            Pattern.compile("\"(?:p2p\\.inbound\\..*|internal\\.peers\\..*|rpc\\.server)\"");

    private final MBeanServer beans;

    private MessageBrokers(MBeanServer beans) {
        this.beans = beans;
    }

    /** Does so now, and whenever a broker or a queue comes or goes. */
    static void watch(MBeanServer beans) throws JMException {
        MessageBrokers brokers = new MessageBrokers(beans);
        beans.addNotificationListener(MBeanServerDelegate.DELEGATE_NAME, brokers, null, null);
        for (ObjectName name : beans.queryNames(new ObjectName(DOMAIN + ":*"), null)) {
            brokers.register(name);
        }
    }

    @Override
    public void handleNotification(Notification notification, Object handback) {
        if (!(notification instanceof MBeanServerNotification)) {
            return;
        }
        ObjectName name = ((MBeanServerNotification) notification).getMBeanName();
        if (!name.getDomain().equals(DOMAIN)) {
            return;
        }
        try {
            if (notification.getType().equals(MBeanServerNotification.REGISTRATION_NOTIFICATION)) {
                register(name);
            } else {
                unregister(name);
            }
        } catch (JMException | RuntimeException e) {
            System.err.println(name + " cannot be watched: " + e);
        }
    }

    private void register(ObjectName artemis) throws JMException {
        Optional<ObjectName> own = own(artemis);
        if (own.isPresent()) {
            Attributes attributes = new Attributes(beans, artemis);
            Object bean = isQueue(artemis) ? new Queue(attributes) : new Broker(attributes);
            try {
                beans.registerMBean(bean, own.get());
            } catch (InstanceAlreadyExistsException e) {
                // It was registered while the names were listed.
            }
        }
    }

    private void unregister(ObjectName artemis) throws JMException {
        Optional<ObjectName> own = own(artemis);
        if (own.isPresent()) {
            try {
                beans.unregisterMBean(own.get());
            } catch (InstanceNotFoundException e) {
                // It is gone already.
            }
        }
    }

    /** Returns the name of the small MBean for one of Artemis; nothing if it needs none. */
    private static Optional<ObjectName> own(ObjectName artemis) throws JMException {
        String broker = "broker=" + artemis.getKeyProperty("broker");
        if (isQueue(artemis)) {
            String queue = artemis.getKeyProperty("queue");
            boolean isWanted = QUEUES.matcher(queue).matches();
            return isWanted
                    ? Optional.of(new ObjectName("org.cordalab:type=Queue," + broker + ",queue=" + queue))
                    : Optional.empty();
        }
        boolean isBroker = artemis.getKeyPropertyList().size() == 1;
        return isBroker ? Optional.of(new ObjectName("org.cordalab:type=Broker," + broker)) : Optional.empty();
    }

    private static boolean isQueue(ObjectName artemis) {
        return "queues".equals(artemis.getKeyProperty("subcomponent"));
    }
}
