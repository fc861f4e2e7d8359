package org.cordalab.bridge.flow;

import java.util.List;

/**
 * An argument, or a field of one, for people who write values of it.
 *
 * @param type as in source code, such as {@code List<Claim>}; a question mark at the end: it is said to accept null
 * @param optional whether it may be left out
 * @param isAbstract whether the value must name its class in the field {@code @class}
 * @param values the constants, if the value is one of an enum
 * @param fields the fields of the value, or of each element, if it is built from an object; empty also where the
 *     description would be too long, or the value would contain itself
 */
public record FieldDescription(
        String name,
        String type,
        boolean optional,
        boolean isAbstract,
        List<String> values,
        List<FieldDescription> fields) {

    public FieldDescription {
        values = List.copyOf(values);
        fields = List.copyOf(fields);
    }
}
