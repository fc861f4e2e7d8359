package org.cordalab.states;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import net.corda.core.contracts.BelongsToContract;
import net.corda.core.contracts.LinearState;
import net.corda.core.contracts.UniqueIdentifier;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import net.corda.core.schemas.MappedSchema;
import net.corda.core.schemas.PersistentState;
import net.corda.core.schemas.QueryableState;
import org.cordalab.contracts.IouContract;
import org.cordalab.schema.IouSchemaV1;

/** A promise by the borrower to pay the lender {@code value} units. Both parties store it in their vaults. */
@BelongsToContract(IouContract.class)
public class IouState implements LinearState, QueryableState {
    private final int value;
    private final Party lender;
    private final Party borrower;
    private final UniqueIdentifier linearId;

    /** Called by Corda's serialisation, which matches every parameter with the getter of the same name. */
    public IouState(int value, Party lender, Party borrower, UniqueIdentifier linearId) {
        this.value = value;
        this.lender = lender;
        this.borrower = borrower;
        this.linearId = linearId;
    }

    public int getValue() {
        return value;
    }

    public Party getLender() {
        return lender;
    }

    public Party getBorrower() {
        return borrower;
    }

    /** Returns the same IOU with a different value. */
    public IouState withValue(int newValue) {
        return new IouState(newValue, lender, borrower, linearId);
    }

    @Override
    public UniqueIdentifier getLinearId() {
        return linearId;
    }

    @Override
    public List<AbstractParty> getParticipants() {
        return Arrays.asList(lender, borrower);
    }

    @Override
    public Iterable<MappedSchema> supportedSchemas() {
        return Collections.singletonList(new IouSchemaV1());
    }

    @Override
    public PersistentState generateMappedObject(MappedSchema schema) {
        if (!(schema instanceof IouSchemaV1)) {
            throw new IllegalArgumentException("An IOU cannot be mapped to the schema " + schema);
        }
        return new IouSchemaV1.PersistentIou(
                lender.getName().toString(), borrower.getName().toString(), value, linearId.toString());
    }

    @Override
    public String toString() {
        return "IouState(value=" + value + ", lender=" + lender + ", borrower=" + borrower + ", linearId=" + linearId
                + ")";
    }
}
