package org.cordalab.flows;

import java.security.PublicKey;
import java.util.Collections;
import java.util.Currency;
import java.util.List;
import net.corda.core.contracts.Amount;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import net.corda.core.transactions.TransactionBuilder;
import org.cordalab.contracts.AssetContract;
import org.cordalab.states.Asset;
import org.cordalab.states.CashState;

/** Builds the transactions of the cash flows. */
final class Cash {
    private Cash() {}

    /** Returns an issue of {@code count} coins of {@code amount} each to the issuer itself. */
    static TransactionBuilder issue(Amount<Currency> amount, int count, Party issuer, Party notary) {
        CashState coin = new CashState(
                issuer, issuer, amount.getQuantity(), amount.getToken().getCurrencyCode());
        TransactionBuilder builder =
                new TransactionBuilder(notary).addCommand(new AssetContract.Commands.Issue(), issuer.getOwningKey());
        for (int made = 0; made < count; made++) {
            builder.addOutputState(coin, AssetContract.ID);
        }
        return builder;
    }

    /** Returns {@code count} payments of {@code quantity} from {@code coin}. The change goes back to its owner. */
    static TransactionBuilder pay(StateAndRef<CashState> coin, AbstractParty payee, long quantity, int count) {
        CashState spent = coin.getState().getData();
        List<PublicKey> signers = Collections.singletonList(spent.getOwner().getOwningKey());
        TransactionBuilder builder = new TransactionBuilder(coin.getState().getNotary())
                .addInputState(coin)
                .addCommand(new AssetContract.Commands.Move(), signers);
        Asset payment = spent.withOwner(payee, quantity);
        for (int made = 0; made < count; made++) {
            builder.addOutputState(payment, AssetContract.ID);
        }
        long change = spent.getQuantity() - quantity * count;
        if (change > 0) {
            builder.addOutputState(spent.withOwner(spent.getOwner(), change), AssetContract.ID);
        }
        return builder;
    }
}
