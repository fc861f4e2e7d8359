package org.cordalab.nodes;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.Set;

/** What a Java class file says about a class, without loading it. */
final class ClassFile {
    private static final int MAGIC = 0xCAFEBABE;
    private static final int ABSTRACT = 0x0400;
    private static final int UTF8 = 1;
    private static final int CLASS = 7;

    /** With slashes, as in class files: {@code com/example/Outer$Inner}. */
    final String name;
    /** Null only for {@code java/lang/Object}. */
    final String superclass;

    final boolean isAbstract;
    /** All texts in the file: names, and the values of constants. */
    final Set<String> texts;

    private ClassFile(String name, String superclass, boolean isAbstract, Set<String> texts) {
        this.name = name;
        this.superclass = superclass;
        this.isAbstract = isAbstract;
        this.texts = texts;
    }

    /** Returns the name without package and outer classes. */
    String simpleName() {
        return name.substring(Math.max(name.lastIndexOf('/'), name.lastIndexOf('$')) + 1);
    }

    /** Reads a class file; returns null if it is none. */
    static ClassFile read(InputStream stream) throws IOException {
        DataInputStream data = new DataInputStream(stream);
        if (data.readInt() != MAGIC) {
            return null;
        }
        data.readInt(); // the version
        int count = data.readUnsignedShort();
        String[] texts = new String[count];
        int[] classes = new int[count];
        Set<String> all = new HashSet<>();
        for (int i = 1; i < count; i++) {
            int tag = data.readUnsignedByte();
            if (tag == UTF8) {
                texts[i] = data.readUTF();
                all.add(texts[i]);
            } else if (tag == CLASS) {
                classes[i] = data.readUnsignedShort();
            } else {
                data.readFully(new byte[bytes(tag)]);
                if (isWide(tag)) {
                    i++;
                }
            }
        }
        boolean isAbstract = (data.readUnsignedShort() & ABSTRACT) != 0;
        String name = texts[classes[data.readUnsignedShort()]];
        String superclass = texts[classes[data.readUnsignedShort()]];
        return new ClassFile(name, superclass, isAbstract, all);
    }

    /** Returns whether a constant takes two places: the numbers of 8 bytes do. */
    private static boolean isWide(int tag) {
        return tag == 5 || tag == 6;
    }

    /** Returns the number of bytes of a constant after its tag (JVM specification, section 4.4). */
    private static int bytes(int tag) throws IOException {
        switch (tag) {
            case 8:
            case 16:
            case 19:
            case 20:
                return 2;
            case 15:
                return 3;
            case 3:
            case 4:
            case 9:
            case 10:
            case 11:
            case 12:
            case 17:
            case 18:
                return 4;
            case 5:
            case 6:
                return 8;
            default:
                throw new IOException("unknown constant " + tag);
        }
    }
}
