package org.cordalab.schema;

import java.util.Collections;
import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Table;
import net.corda.core.schemas.MappedSchema;
import net.corda.core.schemas.PersistentState;

/**
 * The table in which each party's vault keeps the IOUs it takes part in. The table itself is made by {@code
 * migration/iou.changelog-master.xml}, which must say the same.
 */
public class IouSchemaV1 extends MappedSchema {
    public IouSchemaV1() {
        super(IouSchema.class, 1, Collections.singletonList(PersistentIou.class));
    }

    /** Overrides nothing in Corda 3, which makes the table from the class below. */
    public String getMigrationResource() {
        return "iou.changelog-master";
    }

    /** One IOU as a row. The parties are X.500 names. */
    @Entity
    @Table(name = "iou_states")
    public static class PersistentIou extends PersistentState {
        @Column(name = "lender", nullable = false)
        private final String lender;

        @Column(name = "borrower", nullable = false)
        private final String borrower;

        /** Not called {@code value}, which SQL reserves. */
        @Column(name = "iou_value", nullable = false)
        private final int value;

        @Column(name = "linear_id", nullable = false)
        private final String linearId;

        public PersistentIou(String lender, String borrower, int value, String linearId) {
            this.lender = lender;
            this.borrower = borrower;
            this.value = value;
            this.linearId = linearId;
        }

        /** For Hibernate, which then sets the fields. */
        public PersistentIou() {
            this("", "", 0, "");
        }

        public String getLender() {
            return lender;
        }

        public String getBorrower() {
            return borrower;
        }

        public int getValue() {
            return value;
        }

        public String getLinearId() {
            return linearId;
        }
    }
}
