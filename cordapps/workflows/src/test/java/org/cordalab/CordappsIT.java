package org.cordalab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.lang.reflect.Constructor;
import java.lang.reflect.Parameter;
import java.net.URL;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.stream.Collectors;
import net.corda.core.cordapp.Cordapp;
import net.corda.core.internal.cordapp.CordappImpl;
import net.corda.node.VersionInfo;
import net.corda.node.internal.cordapp.JarScanningCordappLoader;
import org.cordalab.contracts.IouContract;
import org.cordalab.flows.Empty;
import org.cordalab.flows.Iou;
import org.cordalab.flows.IouResponder;
import org.cordalab.schema.IouSchemaV1;
import org.junit.jupiter.api.Test;

/** What a node reads from the packed jars. */
class CordappsIT {
    private final CordappImpl contracts = load(IouContract.class);
    private final CordappImpl workflows = load(Iou.class);

    @Test
    void theContractsJarSaysThatItIsAContractCordapp() {
        Cordapp.Info.Contract info = assertInstanceOf(Cordapp.Info.Contract.class, contracts.getInfo());
        assertEquals(new Cordapp.Info.Contract("Corda Lab Contracts", "Corda Benchmark Lab", 1, "Apache-2.0"), info);
    }

    @Test
    void theWorkflowsJarSaysThatItIsAWorkflowCordapp() {
        Cordapp.Info.Workflow info = assertInstanceOf(Cordapp.Info.Workflow.class, workflows.getInfo());
        assertEquals(new Cordapp.Info.Workflow("Corda Lab Workflows", "Corda Benchmark Lab", 1, "Apache-2.0"), info);
    }

    @Test
    void bothRunOnPlatformFourAndUp() {
        for (CordappImpl cordapp : Arrays.asList(contracts, workflows)) {
            assertEquals(4, cordapp.getMinimumPlatformVersion());
            assertEquals(4, cordapp.getTargetPlatformVersion());
        }
    }

    @Test
    void theContractAndItsSchemaAreFoundInTheContractsJar() {
        assertEquals(Collections.singletonList(IouContract.ID), contracts.getContractClassNames());
        assertEquals(Collections.singleton(new IouSchemaV1()), contracts.getCustomSchemas());
    }

    @Test
    void theFlowsAreFoundInTheWorkflowsJar() {
        assertEquals(new HashSet<>(Arrays.asList(Iou.class, Empty.class)), new HashSet<>(workflows.getRpcFlows()));
        assertEquals(Collections.singletonList(IouResponder.class), workflows.getInitiatedFlows());
    }

    @Test
    void theArgumentsOfTheIouFlowHaveNames() {
        Constructor<?>[] constructors = Iou.class.getConstructors();
        assertEquals(1, constructors.length);
        List<String> names = Arrays.stream(constructors[0].getParameters())
                .map(Parameter::getName)
                .collect(Collectors.toList());
        assertEquals(Arrays.asList("iouValue", "otherParty"), names);
    }

    private static CordappImpl load(Class<?> member) {
        URL jar = member.getProtectionDomain().getCodeSource().getLocation();
        try (JarScanningCordappLoader loader = JarScanningCordappLoader.Companion.fromJarUrls(
                Collections.singletonList(jar),
                VersionInfo.Companion.getUNKNOWN(),
                Collections.emptyList(),
                Collections.emptyList())) {
            return loader.getCordapps().get(0);
        }
    }
}
