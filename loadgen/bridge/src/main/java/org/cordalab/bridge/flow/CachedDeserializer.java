package org.cordalab.bridge.flow;

import com.fasterxml.jackson.databind.JsonDeserializer;

/** A deserialiser that Jackson creates once for a type. By default, it reads the annotations again for each value. */
abstract class CachedDeserializer<T> extends JsonDeserializer<T> {

    @Override
    public boolean isCachable() {
        return true;
    }
}
