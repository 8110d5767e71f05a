"""Writes what libclang says about the references of C and C++ as an `index.scip`, for benches/graph.py.

    pip install libclang
    python3 benches/clang_index.py FOLDER LIST index.scip [COMPILER_FLAG ...]

LIST names the files, one path below FOLDER a line; `.c` and C++ files among them are parsed with the flags,
and references in all of them are written. A declaration and its definition are one symbol. What the body
of a macro refers to is left out.
"""

import ctypes
import os
import re
import sys

from clang.cindex import CursorKind, Index, LinkageKind, SourceLocation, TranslationUnit, conf


def encode_varint(value):
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes(encoded) + bytes([value])


def encode_field(number, value):
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value)
    return encode_varint(number << 3 | 2) + encode_varint(len(value)) + value


def find_place(location):
    """Returns file, line and column of the source that a location is written at."""
    file, line, column, offset = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    get_place = conf.lib.clang_getFileLocation
    get_place(location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column), ctypes.byref(offset))
    place = SourceLocation._get_instantiation(location)[0]
    return (os.path.normpath(place.name) if place else None), line.value, column.value - 1


def walk_known(root, known):
    """Yields the nodes of a unit, without what the headers of the system declare."""
    for child in root.get_children():
        if find_place(child.location)[0] in known:
            yield from child.walk_preorder()


def name_symbol(cursor):
    is_local = cursor.kind == CursorKind.VAR_DECL and cursor.linkage == LinkageKind.NO_LINKAGE
    prefix = "local " if is_local or cursor.kind == CursorKind.PARM_DECL else ""
    return prefix + cursor.get_usr() if cursor.get_usr() else ""


def main():
    conf.lib.clang_getFileLocation.argtypes = [SourceLocation] + [ctypes.c_void_p] * 4
    folder, list_path, output, *flags = sys.argv[1:]
    paths = open(list_path).read().split("\n")
    known = {os.path.normpath(f"{folder}/{path}"): path for path in paths if path}
    lines, occurrences = {}, {}
    options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    for full, path in known.items():
        lines[path] = open(full, "rb").read().split(b"\n")
    for full in known:
        if not full.endswith((".c", ".cc", ".cpp", ".cxx")):
            continue
        unit = Index.create().parse(full, flags, options=options)
        for cursor in walk_known(unit.cursor, known):
            name, line, column = find_place(cursor.location)
            if name not in known:
                continue
            path = known[name]
            referenced = cursor.referenced
            if cursor.kind.is_declaration() or cursor.kind == CursorKind.MACRO_DEFINITION:
                target, defines = cursor, 1
            elif referenced is not None:
                target, defines = referenced, 0
            else:
                continue
            text = lines[path][line - 1][column:]
            # Names in the body of a macro are at the place where it is used.
            if not target.spelling or re.match(rb"[\w~]*", text).group() != target.spelling.encode():
                continue
            symbol = name_symbol(target)
            if symbol:
                occurrences.setdefault(path, {})[line - 1, column, defines] = symbol
    with open(output, "wb") as file:
        for path, found in occurrences.items():
            document = encode_field(1, path.encode())
            for (line, column, defines), symbol in found.items():
                place = encode_varint(line) + encode_varint(column) + encode_varint(column + 1)
                entry = encode_field(1, place) + encode_field(2, symbol.encode()) + encode_field(3, defines)
                document += encode_field(2, entry)
            file.write(encode_field(2, document))


if __name__ == "__main__":
    main()
