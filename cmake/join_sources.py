#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deals the sources of a folder out into heaps that are compiled at once (cmake/module.cmake, docs/decisions/0020).

    join_sources.py ROOT OUT NAME EACH SOURCE...

Writes OUT/NAME_<n>.cc, which include about EACH sources by their paths below ROOT, and prints what is to be compiled. A source
goes to the heap that its path says, or to the next one with room where nothing is called like something of its own: so a new
file moves few others, and every command can call its table kOptions."""
import hashlib
import pathlib
import re
import sys

# What a source calls its own, as far as its lines show it: what stands at their beginning ...
GLOBAL = re.compile(r"^(?:struct|class|enum(?: class)?|union|using) (\w+)"
                    r"|^(?!return|namespace|using|else)[A-Za-z][^=;({\n]*?[ *&>](\w+) ?(?:\(|(?:\[[^\]\n]*\])* ?[={;])", re.M)
# ... and constants and types inside functions, which -Wshadow does not let be called like the globals of another.
LOCAL = re.compile(r"^ +(?:(?:static )?(?:constexpr|const) [^=;({\n]*?(\w+)(?:\[[^\]\n]*\])* ?[={]"
                   r"|(?:using|struct|class|enum class|enum) (\w+))", re.M)


def names(text):
    return {a or b for a, b in GLOBAL.findall(text)}, {a or b for a, b in LOCAL.findall(text)}


class Heap:
    def __init__(self):
        self.paths, self.globals, self.locals = [], set(), set()

    def take(self, path, own, inner, room):
        if len(self.paths) >= room or own & (self.globals | self.locals) or inner & self.globals:
            return False
        self.paths.append(path)
        self.globals |= own
        self.locals |= inner
        return True


def deal(root, each, paths):
    """The heaps, and those paths that go with no others."""
    count = -(-len(paths) // each)
    if count > 4:  # in steps, so that one file more seldom deals all of them out anew; the rest of the room is for those
        count = -(-count // 4) * 4
    heaps, alone = [Heap() for _ in range(count)], []
    for path in paths:
        found = names((root / path).read_text())
        first = int(hashlib.sha1(path.encode()).hexdigest(), 16)
        if not any(heaps[(first + step) % count].take(path, *found, each + each // 2) for step in range(count)):
            alone.append(path)
    return heaps, alone


def main(root, out, name, each, *sources):
    root, out = pathlib.Path(root), pathlib.Path(out)
    heaps, alone = deal(root, int(each), [str(pathlib.Path(s).relative_to(root)) for s in sources])
    compile_these = [str(root / path) for path in alone]
    out.mkdir(parents=True, exist_ok=True)
    for number, heap in enumerate(heaps):
        if not heap.paths:
            continue
        file = out / f"{name}_{number}.cc"
        text = "".join(f'#include "{path}"\n' for path in heap.paths)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        compile_these.append(str(file))
    print(";".join(compile_these), end="")


main(*sys.argv[1:])
