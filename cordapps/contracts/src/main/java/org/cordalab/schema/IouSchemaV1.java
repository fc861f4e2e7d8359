package org.cordalab.schema;

import java.util.Collections;
import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Table;
import net.corda.core.schemas.MappedSchema;
import net.corda.core.schemas.PersistentState;

/**
 * The table in which a party's vault stores its IOUs. {@code migration/corda-lab-iou.changelog-master.xml} creates the
 * table and must define the same columns. Table and file have the name of the lab, because many CorDapps that began as
 * R3's template have {@code iou_states} and {@code iou.changelog-master.xml}.
 */
public class IouSchemaV1 extends MappedSchema {
    public IouSchemaV1() {
        super(IouSchema.class, 1, Collections.singletonList(PersistentIou.class));
    }

    /** Returns the Liquibase file's name. Corda 3 does not call this: it creates the table from the class below. */
    public String getMigrationResource() {
        return "corda-lab-iou.changelog-master";
    }

    /** One IOU as a row. The parties are X.500 names. */
    @Entity
    @Table(name = "corda_lab_iou_states")
    public static class PersistentIou extends PersistentState {
        @Column(name = "lender", nullable = false)
        private final String lender;

        @Column(name = "borrower", nullable = false)
        private final String borrower;

        /** The column is not called {@code value}, which is a reserved word in SQL. */
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

        /** Called by Hibernate, which then sets the fields. */
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
