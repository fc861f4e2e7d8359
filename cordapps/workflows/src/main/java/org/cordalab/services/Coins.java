package org.cordalab.services;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.node.AppServiceHub;
import net.corda.core.node.services.CordaService;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.vault.PageSpecification;
import net.corda.core.node.services.vault.QueryCriteria;
import net.corda.core.serialization.SingletonSerializeAsToken;
import org.cordalab.states.Asset;

/**
 * Keeps this node's unspent assets in memory, so that benchmarks do not measure coin selection. Taking an asset is a
 * lookup in a sorted map, not a query. Each asset is given to only one flow, and the largest is taken first.
 *
 * <p>The assets are read from the vault at first use, and then follow its updates. At most {@value #ASSETS_MAX} assets
 * of a kind are kept; the vault may hold more. A flow must give back an asset that it took and did not spend. After a
 * restart, the node does not know which assets flows had taken, so a flow restored from a checkpoint may find its asset
 * spent.
 */
@CordaService
public class Coins extends SingletonSerializeAsToken {
    /** The maximum number of assets of one kind that are kept. */
    public static final int ASSETS_MAX = 100_000;

    private static final int PAGE_SIZE = 1_000;

    private final AppServiceHub services;
    private final Map<Class<? extends Asset>, Pool> pools = new HashMap<>();

    public Coins(AppServiceHub services) {
        this.services = services;
    }

    /**
     * Takes an asset of at least {@code quantity} that no other flow has taken.
     *
     * @return its reference, or null if there is none
     */
    public StateRef take(Class<? extends Asset> kind, long quantity) {
        return pool(kind).take(quantity);
    }

    /** Gives back an asset that was taken but not spent. Has no effect if it has been spent in the meantime. */
    public void giveBack(Class<? extends Asset> kind, StateRef asset) {
        pool(kind).giveBack(asset);
    }

    /** Takes a specific asset, so that no other flow gets it. Has no effect if the asset is not known. */
    public void reserve(Class<? extends Asset> kind, StateRef asset) {
        pool(kind).reserve(asset);
    }

    private Pool pool(Class<? extends Asset> kind) {
        synchronized (pools) {
            Pool known = pools.get(kind);
            if (known != null) {
                return known;
            }
            Pool pool = new Pool();
            // Subscribes before reading the vault: an asset that arrives in between is seen twice, but kept once.
            services.getVaultService().getUpdates().subscribe(update -> follow(kind, pool, update), error -> {});
            load(kind, pool);
            pools.put(kind, pool);
            return pool;
        }
    }

    private static void follow(Class<? extends Asset> kind, Pool pool, Vault.Update<?> update) {
        for (StateAndRef<?> spent : update.getConsumed()) {
            if (kind.isInstance(spent.getState().getData())) {
                pool.remove(spent.getRef());
            }
        }
        for (StateAndRef<?> made : update.getProduced()) {
            if (kind.isInstance(made.getState().getData())) {
                pool.add(made.getRef(), ((Asset) made.getState().getData()).getQuantity());
            }
        }
    }

    private <T extends Asset> void load(Class<T> kind, Pool pool) {
        QueryCriteria unspent = new QueryCriteria.VaultQueryCriteria(Vault.StateStatus.UNCONSUMED);
        List<StateAndRef<T>> page;
        int number = 1;
        do {
            page = services.getVaultService()
                    .queryBy(kind, unspent, new PageSpecification(number++, PAGE_SIZE))
                    .getStates();
            page.forEach(
                    each -> pool.add(each.getRef(), each.getState().getData().getQuantity()));
        } while (page.size() == PAGE_SIZE && number <= ASSETS_MAX / PAGE_SIZE);
    }

    /** The unspent assets of one kind: all known ones, and the free ones by quantity. */
    private static final class Pool {
        private final Map<StateRef, Long> known = new HashMap<>();
        private final TreeMap<Long, Deque<StateRef>> free = new TreeMap<>();

        synchronized void add(StateRef asset, long quantity) {
            if (known.size() < ASSETS_MAX && known.putIfAbsent(asset, quantity) == null) {
                release(asset, quantity);
            }
        }

        synchronized void remove(StateRef asset) {
            Long quantity = known.remove(asset);
            if (quantity != null) {
                withdraw(asset, quantity);
            }
        }

        synchronized StateRef take(long quantity) {
            Map.Entry<Long, Deque<StateRef>> largest = free.lastEntry();
            if (largest == null || largest.getKey() < quantity) {
                return null;
            }
            StateRef asset = largest.getValue().removeFirst();
            if (largest.getValue().isEmpty()) {
                free.remove(largest.getKey());
            }
            return asset;
        }

        synchronized void giveBack(StateRef asset) {
            Long quantity = known.get(asset);
            if (quantity != null) {
                withdraw(asset, quantity);
                release(asset, quantity);
            }
        }

        synchronized void reserve(StateRef asset) {
            Long quantity = known.get(asset);
            if (quantity != null) {
                withdraw(asset, quantity);
            }
        }

        private void release(StateRef asset, long quantity) {
            free.computeIfAbsent(quantity, any -> new ArrayDeque<>()).addLast(asset);
        }

        private void withdraw(StateRef asset, long quantity) {
            Deque<StateRef> equals = free.get(quantity);
            if (equals != null && equals.remove(asset) && equals.isEmpty()) {
                free.remove(quantity);
            }
        }
    }
}
