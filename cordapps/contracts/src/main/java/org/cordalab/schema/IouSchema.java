package org.cordalab.schema;

/** The family of database schemas for IOUs; its versions are {@link IouSchemaV1} and what may follow. */
public final class IouSchema {
    private IouSchema() {}
}
