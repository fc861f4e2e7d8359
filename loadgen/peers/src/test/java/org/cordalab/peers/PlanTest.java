package org.cordalab.peers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.apache.jmeter.protocol.java.sampler.JavaSampler;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerClient;
import org.apache.jmeter.samplers.SampleResult;
import org.apache.jmeter.save.SaveService;
import org.apache.jmeter.threads.AbstractThreadGroup;
import org.apache.jmeter.threads.SetupThreadGroup;
import org.apache.jmeter.threads.ThreadGroup;
import org.apache.jmeter.util.JMeterUtils;
import org.apache.jorphan.collections.HashTree;
import org.apache.jorphan.collections.SearchByClass;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The test plan, read by JMeter itself. */
class PlanTest {

    private static HashTree plan;

    @BeforeAll
    static void readPlan() throws Exception {
        String home = System.getProperty("jmeter.home");
        JMeterUtils.setJMeterHome(home);
        JMeterUtils.loadJMeterProperties(
                Path.of(home, "bin", "jmeter.properties").toString());
        plan = SaveService.loadTree(new File("flows.jmx"));
    }

    private static <T> Collection<T> found(Class<T> type) {
        var search = new SearchByClass<>(type);
        plan.traverse(search);
        return search.getSearchResults();
    }

    @Test
    void namesSamplersThatJMeterCanCreate() throws Exception {
        List<String> names =
                found(JavaSampler.class).stream().map(JavaSampler::getClassname).toList();
        assertThat(names).containsExactlyInAnyOrder(ConnectSampler.class.getName(), FlowSampler.class.getName());
        for (String name : names) {
            assertThat(Class.forName(name).getConstructor().newInstance()).isInstanceOf(JavaSamplerClient.class);
        }
    }

    @Test
    void opensAsManyConnectionsAsTheLoadHasThreads() {
        assertThat(found(AbstractThreadGroup.class))
                .hasSize(2)
                .allSatisfy(group -> assertThat(group.getPropertyAsString(AbstractThreadGroup.NUM_THREADS))
                        .isEqualTo("${__P(users)}"));
        assertThat(found(SetupThreadGroup.class)).hasSize(1);
    }

    @Test
    void endsTheTestIfAConnectionCannotBeOpened() {
        assertThat(found(SetupThreadGroup.class)).allMatch(AbstractThreadGroup::getOnErrorStopTestNow);
        assertThat(found(ThreadGroup.class))
                .filteredOn(group -> !(group instanceof SetupThreadGroup))
                .noneMatch(AbstractThreadGroup::getOnErrorStopTestNow);
    }

    @Test
    void aFailureSaysWhy() {
        SampleResult sample = Sampling.of("flow", () -> {
            throw new IllegalStateException("out of coins");
        });
        assertThat(sample.isSuccessful()).isFalse();
        assertThat(sample.getResponseMessage()).contains("out of coins");
    }
}
