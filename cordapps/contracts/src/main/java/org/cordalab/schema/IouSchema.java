package org.cordalab.schema;

/** The family of database schemas for IOUs. {@link IouSchemaV1} is its first version. */
public final class IouSchema {
    private IouSchema() {}
}
