package org.cordalab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.lang.reflect.Parameter;
import java.net.URL;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.stream.Collectors;
import net.corda.core.cordapp.Cordapp;
import net.corda.core.internal.cordapp.CordappImpl;
import net.corda.node.VersionInfo;
import net.corda.node.internal.cordapp.JarScanningCordappLoader;
import org.cordalab.contracts.AssetContract;
import org.cordalab.contracts.AttachmentContract;
import org.cordalab.contracts.IouContract;
import org.cordalab.flows.AssetPrepare;
import org.cordalab.flows.AttachmentSend;
import org.cordalab.flows.CashIssue;
import org.cordalab.flows.CashIssueAndPay;
import org.cordalab.flows.CashPrepare;
import org.cordalab.flows.CashRepeatedPay;
import org.cordalab.flows.DoubleSpend;
import org.cordalab.flows.Empty;
import org.cordalab.flows.Iou;
import org.cordalab.flows.IouPrepare;
import org.cordalab.flows.IouUpdate;
import org.cordalab.flows.Settlement;
import org.cordalab.flows.SettlementParallel;
import org.cordalab.schema.IouSchemaV1;
import org.cordalab.services.Coins;
import org.junit.jupiter.api.Test;

/** Tests what a node reads from the packed jars. */
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
    void theContractsAndTheSchemaAreFoundInTheContractsJar() {
        assertEquals(
                new HashSet<>(Arrays.asList(AssetContract.ID, AttachmentContract.ID, IouContract.ID)),
                new HashSet<>(contracts.getContractClassNames()));
        assertEquals(Collections.singleton(new IouSchemaV1()), contracts.getCustomSchemas());
    }

    @Test
    void theFlowsAreFoundInTheWorkflowsJar() {
        assertEquals(
                new HashSet<>(Arrays.asList(
                        AssetPrepare.class,
                        AttachmentSend.class,
                        CashIssue.class,
                        CashIssueAndPay.class,
                        CashPrepare.class,
                        CashRepeatedPay.class,
                        DoubleSpend.class,
                        Empty.class,
                        Iou.class,
                        IouPrepare.class,
                        IouUpdate.class,
                        Settlement.class,
                        SettlementParallel.class)),
                new HashSet<>(workflows.getRpcFlows()));
    }

    @Test
    void theServiceThatSelectsCoinsIsFound() {
        assertEquals(Collections.singletonList(Coins.class), workflows.getServices());
    }

    @Test
    void theArgumentsOfTheIouFlowHaveNames() {
        List<List<String>> names = Arrays.stream(Iou.class.getConstructors())
                .map(constructor -> Arrays.stream(constructor.getParameters())
                        .map(Parameter::getName)
                        .collect(Collectors.toList()))
                .sorted(Comparator.comparing(List::size))
                .collect(Collectors.toList());
        assertEquals(
                Arrays.asList(
                        Arrays.asList("iouValue", "otherParty"), Arrays.asList("iouValue", "otherParty", "timeWindow")),
                names);
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
