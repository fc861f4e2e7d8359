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
 * The rules for transactions with cash or stock. The issuers sign an issue. A move preserves the total of each product
 * of each issuer, and all owners of the inputs sign it. One transaction may move several products, so parties can
 * exchange one product for another atomically.
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

    /** Returns the total quantity by state class, issuer and product. On overflow, the transaction is invalid too. */
    private static Map<List<Object>, Long> sums(List<Asset> assets) {
        return assets.stream()
                .collect(Collectors.toMap(
                        each -> Arrays.asList(each.getClass(), each.getIssuer().getOwningKey(), each.getProduct()),
                        Asset::getQuantity,
                        Math::addExact));
    }

    /** The commands for assets. */
    public interface Commands extends CommandData {
        /** Creates assets without consuming any. */
        class Issue implements Commands {}

        /** Transfers assets to other owners, or splits or merges them. */
        class Move implements Commands {}
    }
}
