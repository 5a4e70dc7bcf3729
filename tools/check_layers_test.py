#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py must catch each planted violation and pass a clean tree."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_layers  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def rules(files):
    """The rules that a tree of {path: text} breaks."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src"))
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return [rule for _, _, rule, _ in check_layers.check_tree(root)]


class Planted(unittest.TestCase):
    def broken(self, path, body, rule):
        self.assertIn(rule, rules({path: SPDX + body}), body)

    def fine(self, path, body):
        self.assertEqual(rules({path: SPDX + body}), [], body)

    def test_layers(self):
        self.broken("src/base/a.cpp", '#include "bytes/cursor.hpp"\n', "layer")
        self.broken("src/containers/a.cpp", '#include "model/b.hpp"\n', "layer")
        self.broken("src/model/a.hpp", '#include "assay/pickle.hpp"\n', "layer")
        self.broken("src/values/a.cpp", '  #  include "formats/format.hpp"\n', "layer")
        self.broken("src/cli/a.cpp", '#include "capi/handle.hpp"\n', "layer")
        self.broken("src/report/a.cpp", '#include "assay/assay.hpp"\n', "layer")
        self.broken("src/base/a.cpp", '#include "text.hpp"\n', "layer")
        self.broken("src/base/a.cpp", '#include "assay/new_header.hpp"\n', "layer")
        self.broken("src/stray/a.cpp", "", "layer")
        self.broken("include/assay/result.hpp", '#include "assay/source.hpp"\n', "layer")
        self.broken("include/assay/tensor.hpp", '#include "base/arith.hpp"\n', "layer")
        self.fine("src/formats/a.cpp", '#include "containers/zip.hpp"\n#include "assay/checkpoint.hpp"\n#include "formats/b.hpp"\n')
        self.fine("src/containers/a.cpp", '#include "assay/pickle.hpp"\n#include "assay/tensor.hpp"\n#include <vector>\n')

    def test_core(self):
        self.broken("src/bytes/a.cpp", "#include <iostream>\n", "core")
        self.broken("src/bytes/a.cpp", "void f() { throw 1; }\n", "core")
        self.broken("src/bytes/a.cpp", "void f() { try {} catch (...) {} }\n", "core")
        self.broken("src/cli/a.cpp", "#include <format>\n", "standard")
        self.fine("src/bytes/a.cpp", '// we throw nothing\nconst char* s = "try";\n')
        self.fine("src/cli/a.cpp", "#include <iostream>\nvoid f() { throw 1; }\n")

    def test_native(self):
        self.broken("src/bytes/a.cpp", "#include <thread>\n", "native")
        self.broken("src/bytes/a.cpp", "#include <sys/mman.h>\n", "native")
        self.broken("src/containers/a.cpp", "#include <libdeflate.h>\n", "native")
        self.broken("src/bytes/a.cpp", '#include "bytes/map_native.hpp"\n', "native")
        self.fine("src/bytes/a_native.cpp", '#include <sys/mman.h>\n#include "bytes/map_native.hpp"\n')

    def test_every_file(self):
        self.assertIn("licence", rules({"src/base/a.cpp": "int a;\n"}))
        self.assertIn("licence", rules({"cmake/x.cmake": "set(a b)\n"}))
        self.broken("src/base/a.cpp", "int a;\n" * 500, "length")
        self.fine("src/base/a.cpp", "int a;\n" * 499)
        self.broken("src/base/a.cpp", "\tint a;\n", "tab")
        self.broken("src/base/a.cpp", "int a; \n", "text")
        self.broken("src/base/a.cpp", "int a;\r\n", "text")
        self.broken("src/base/a.cpp", "// TO" "DO: the rest\n", "words")
        self.broken("src/base/a.cpp", "// see /ho" "me/me/notes\n", "words")
        self.broken("src/base/a.cpp", "// from https://somewhere.invalid/file\n", "words")
        self.assertIn("words", rules({"README.md": "get it from registry.somewhere.org\n"}))
        self.fine("src/base/a.cpp", "// https://example.com/x\n")


if __name__ == "__main__":
    unittest.main()
