package org.cordalab.nodes.agent;

import static org.assertj.core.api.Assertions.assertThat;

import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.junit.jupiter.api.Test;

class MessageBrokersTest {
    private static final String ARTEMIS = "org.apache.activemq.artemis:broker=\"P2P\"";
    private static final String QUEUE =
            ",component=addresses,address=\"a\",subcomponent=queues,routing-type=\"anycast\",queue=";

    private final MBeanServer beans = MBeanServerFactory.newMBeanServer();

    /** What Artemis tells of a queue; its MBean has many more attributes. */
    public interface ArtemisQueue {
        /** Returns the messages in the queue. */
        long getMessageCount();

        /** Returns the messages that were put into it. */
        long getMessagesAdded();

        /** Returns its consumers. */
        int getConsumerCount();

        /** Returns the messages that were delivered. */
        int getDeliveringCount();
    }

    /** What Artemis tells of a broker. */
    public interface ArtemisBroker {
        /** Returns the open connections. */
        int getConnectionCount();

        /** Returns the longest wait of a message, in nanoseconds. */
        int getJournalBufferTimeout();
    }

    @Test
    void queuesAndBrokersAreReadWheneverTheyCome() throws Exception {
        queue("\"internal.peers.DLabc\"", 7);
        MessageBrokers.watch(beans);
        queue("\"p2p.inbound.DLxyz\"", 3);
        broker();

        assertThat(read("type=Queue,broker=\"P2P\",queue=\"internal.peers.DLabc\"", "Messages"))
                .isEqualTo(7L);
        String inbound = "type=Queue,broker=\"P2P\",queue=\"p2p.inbound.DLxyz\"";
        assertThat(read(inbound, "Messages")).isEqualTo(3L);
        assertThat(read(inbound, "MessagesAdded")).isEqualTo(30L);
        assertThat(read(inbound, "MessagesDelivering")).isEqualTo(2L);
        assertThat(read(inbound, "Consumers")).isEqualTo(1L);
        assertThat(read("type=Broker,broker=\"P2P\"", "Connections")).isEqualTo(5L);
        assertThat(read("type=Broker,broker=\"P2P\"", "JournalBufferNanos")).isEqualTo(3_333_333L);
    }

    @Test
    void aQueueThatGoesLeavesNothing() throws Exception {
        MessageBrokers.watch(beans);
        queue("\"rpc.server\"", 0);
        assertThat(own()).hasSize(1);
        beans.unregisterMBean(new ObjectName(ARTEMIS + QUEUE + "\"rpc.server\""));
        assertThat(own()).isEmpty();
    }

    @Test
    void queuesOfRpcClientsAndOtherPartsOfABrokerAreLeftOut() throws Exception {
        MessageBrokers.watch(beans);
        queue("\"rpc.client.user.4711\"", 0);
        beans.registerMBean(
                new StandardMBean(new Values(0), ArtemisQueue.class), new ObjectName(ARTEMIS + ",component=acceptors"));
        assertThat(own()).isEmpty();
    }

    private void queue(String name, long messages) throws Exception {
        StandardMBean bean = new StandardMBean(new Values(messages), ArtemisQueue.class);
        beans.registerMBean(bean, new ObjectName(ARTEMIS + QUEUE + name));
    }

    private void broker() throws Exception {
        beans.registerMBean(new StandardMBean(new Values(0), ArtemisBroker.class), new ObjectName(ARTEMIS));
    }

    private Object read(String name, String attribute) throws Exception {
        return beans.getAttribute(new ObjectName("org.cordalab:" + name), attribute);
    }

    private Iterable<ObjectName> own() throws Exception {
        return beans.queryNames(new ObjectName("org.cordalab:*"), null);
    }

    private static final class Values implements ArtemisQueue, ArtemisBroker {
        private final long messages;

        Values(long messages) {
            this.messages = messages;
        }

        @Override
        public long getMessageCount() {
            return messages;
        }

        @Override
        public long getMessagesAdded() {
            return 10 * messages;
        }

        @Override
        public int getConsumerCount() {
            return 1;
        }

        @Override
        public int getDeliveringCount() {
            return 2;
        }

        @Override
        public int getConnectionCount() {
            return 5;
        }

        @Override
        public int getJournalBufferTimeout() {
            return 3_333_333;
        }
    }
}
