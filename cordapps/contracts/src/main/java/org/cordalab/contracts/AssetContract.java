package org.cordalab.contracts;

import static net.corda.core.contracts.ContractsDSL.requireSingleCommand;
import static net.corda.core.contracts.ContractsDSL.requireThat;

import java.security.PublicKey;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import net.corda.core.contracts.CommandData;
import net.corda.core.contracts.CommandWithParties;
import net.corda.core.contracts.Contract;
import net.corda.core.transactions.LedgerTransaction;
import org.cordalab.states.Asset;

/**
 * What every node checks of a transaction with cash or stock: an issue is signed by the issuers, a move keeps the sum of
 * every issuer's every product and is signed by all who owned the inputs. Several products may move at once, which makes
 * an exchange of one for another atomic.
 */
public class AssetContract implements Contract {
    /** The name under which transactions refer to this contract. */
    public static final String ID = AssetContract.class.getName();

    @Override
    public void verify(LedgerTransaction tx) {
        CommandWithParties<Commands> command = requireSingleCommand(tx.getCommands(), Commands.class);
        List<Asset> inputs = tx.inputsOfType(Asset.class);
        List<Asset> outputs = tx.outputsOfType(Asset.class);
        requireThat(require -> {
            require.using(
                    "An asset's quantity is positive.", outputs.stream().allMatch(each -> each.getQuantity() > 0));
            if (command.getValue() instanceof Commands.Issue) {
                require.using("An issue consumes no assets.", inputs.isEmpty());
                require.using("An issue makes assets.", !outputs.isEmpty());
                require.using(
                        "The issuers sign an issue.",
                        command.getSigners()
                                .containsAll(
                                        keys(outputs, each -> each.getIssuer().getOwningKey())));
            } else {
                require.using("A move consumes assets.", !inputs.isEmpty());
                require.using("A move keeps every sum.", sums(inputs).equals(sums(outputs)));
                require.using(
                        "The owners of the inputs sign a move.",
                        command.getSigners()
                                .containsAll(
                                        keys(inputs, each -> each.getOwner().getOwningKey())));
            }
            return null;
        });
    }

    private static List<PublicKey> keys(List<Asset> assets, Function<Asset, PublicKey> key) {
        return assets.stream().map(key).distinct().collect(Collectors.toList());
    }

    /** Total quantity by kind of state, issuer and product. An overflow is a refusal too. */
    private static Map<List<Object>, Long> sums(List<Asset> assets) {
        return assets.stream()
                .collect(Collectors.toMap(
                        each -> Arrays.asList(each.getClass(), each.getIssuer().getOwningKey(), each.getProduct()),
                        Asset::getQuantity,
                        Math::addExact));
    }

    /** What a transaction may do with assets. */
    public interface Commands extends CommandData {
        /** Makes assets out of nothing. */
        class Issue implements Commands {}

        /** Gives assets to other owners, or splits and merges them. */
        class Move implements Commands {}
    }
}
