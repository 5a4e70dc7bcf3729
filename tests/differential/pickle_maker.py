# SPDX-License-Identifier: Apache-2.0
"""Pickles by chance: programs of every opcode that mostly work, and what damage makes of them."""
import pickle

EXTENSIONS = {1: ("ext", "One"), 200: ("ext", "Two"), 70000: ("ext", "Three")}

NAMES = [("os", "system"), ("posix", "system"), ("builtins", "eval"), ("__builtin__", "eval"), ("a.b", "C"), ("a", "b.C"), ("copy_reg", "_reconstructor"),
         ("collections", "OrderedDict"), ("thread", "start_new_thread"), ("k\u043e\u0434", "x"), ("m n", "o"), ("sys", "modules.os"), ("torch._utils", "_rebuild_tensor_v2"),
         ("functools", "partial"), ("urllib", "urlopen"), ("x", "y" * 300)]


def le(value, n):
    return (value & ((1 << (8 * n)) - 1)).to_bytes(n, "little")


class Maker:
    """One random program. `stack` holds what kind of thing each item is, None for a mark; `memo` the same for memo entries."""

    def __init__(self, rng):
        self.rng = rng
        self.out = bytearray()
        self.stack = []
        self.memo = {}
        self.protocol = rng.choice([0, 1, 2, 3, 4, 5])

    def pick(self, *rows):
        return self.rng.choice(rows)

    # Plain values.

    def text(self, s):
        """Pushes a str by any opcode that can hold it."""
        raw = s.encode("utf-8", "surrogatepass")
        ways = [b"X" + le(len(raw), 4) + raw, b"\x8d" + le(len(raw), 8) + raw]
        if len(raw) < 256:
            ways += [b"\x8c" + le(len(raw), 1) + raw] * 3
        escaped = "".join(self.pick(c, "\\u%04x" % ord(c)) if ord(c) < 0x10000 else c for c in s).encode("raw-unicode-escape")
        if b"\n" not in escaped and "\\" not in s:
            ways.append(b"V" + escaped + b"\n")
        if s.isascii() and s.isprintable() and "\\" not in s and "'" not in s:
            quoted = "".join(self.pick(c, c, "\\x%02x" % ord(c), "\\%03o" % ord(c)) for c in s).encode()
            ways += [b"S'" + quoted + b"'\n", b'S"' + quoted + b'"\n', b"T" + le(len(raw), 4) + raw]
            if len(raw) < 256:
                ways.append(b"U" + le(len(raw), 1) + raw)
        self.out += self.rng.choice(ways)
        self.stack.append("text")

    def index(self):
        return self.pick(self.rng.randrange(4), self.rng.randrange(40), self.rng.randrange(300), self.rng.randrange(70000))

    def decimal(self, n):
        return self.pick("%d", "%d", " %d", "%d ", "+%d", "00%d" if n else "%d") % n if n < 10 else self.pick(str(n), "_".join(str(n)))

    def value(self):
        kind = self.rng.randrange(12)
        if kind == 0:
            self.out += self.pick(b"N", b"\x88", b"\x89", b"I01\n", b"I00\n")
            self.stack.append("plain")
        elif kind == 1:
            self.out += self.pick(b"K\x07", b"M\x07\x01", b"J\x07\0\0\x80", b"I7\n", b"I0x1f\n", b"I 12\n", b"L7L\n", b"L-99999999999999999999L\n", b"\x8a\x00", b"\x8a\x02\xff\xff",
                                  b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", b"\x8b\x01\0\0\0\x05")
            self.stack.append("plain")
        elif kind == 2:
            self.out += self.pick(b"F1.5\n", b"F nan\n", b"F-inf\n", b"F1e400\n"[:0] or b"F1e3\n", b"G?\xf0\0\0\0\0\0\0")
            self.stack.append("plain")
        elif kind == 3:
            data = self.pick(b"", b"abc", b"cos\nsystem\n.", bytes(300))
            self.out += self.pick(b"B" + le(len(data), 4) + data, b"\x8e" + le(len(data), 8) + data, (b"C" + le(len(data), 1) + data) if len(data) < 256 else b"C\0")
            self.stack.append("plain")
        elif kind == 4:
            self.out += b"\x96" + le(3, 8) + b"abc"
            self.stack.append("bytearray")
        elif kind == 5:
            self.out += b"]"
            self.stack.append("list")
        elif kind == 6:
            self.out += b"}"
            self.stack.append("dict")
        elif kind == 7:
            self.out += b"\x8f"
            self.stack.append("set")
        elif kind == 8:
            self.out += b")"
            self.stack.append("tuple")
        else:
            self.text(self.pick("", "os", "system", "true", "a b", "\u043e\u0455", "\u20ac", "x" * 300, "append", "__setstate__", "\ud800"))

    # Opcodes that take items: each says whether it could.

    def fence(self):
        return max((i + 1 for i, kind in enumerate(self.stack) if kind is None), default=0)

    def room(self, n):
        return len(self.stack) - self.fence() >= n

    def take(self, n):
        taken = self.stack[len(self.stack) - n:]
        del self.stack[len(self.stack) - n:]
        return taken

    def name(self):
        module, name = self.rng.choice(NAMES)
        way = self.rng.randrange(4)
        if way == 0:
            self.out += b"c" + module.encode() + b"\n" + name.encode() + b"\n"
        elif way == 1:
            self.text(module)
            self.juggle()
            self.text(name)
            self.juggle()
            self.out += b"\x93"
            self.take(2)
        elif way == 2:  # both from the memo, with decoys between
            a, b = self.index(), self.index()
            if a == b:
                return
            self.text(module), self.put(a), self.pop()
            self.text(name), self.put(b), self.pop()
            self.text("decoy"), self.pop()
            self.get(a), self.get(b)
            self.out += b"\x93"
            self.take(2)
        else:
            if not module.isascii() or not name.isascii():
                return
            self.out += b"("
            for _ in range(self.rng.randrange(3)):
                self.out += b"K\x01"
            self.out += b"i" + module.encode() + b"\n" + name.encode() + b"\n"
            self.stack.append("made")
            return
        self.stack.append("name")

    def juggle(self):
        """Leaves the top item as it is, by a detour."""
        way = self.rng.randrange(8)
        if way == 0:
            n = self.index()
            self.put(n)
            self.out += b"0"
            kind = self.stack.pop()
            self.get(n, kind)
        elif way == 1:
            self.out += b"20"
        elif way == 2:
            self.out += b"(K\x01K\x021"
        elif way == 3:
            self.out += self.pick(b"N0", b"(0", b"]0", b"\x80" + le(self.protocol, 1), b"}(1" + b"0")
        elif way == 4:
            n = self.index()
            self.put(n)

    def put(self, n):
        if self.rng.randrange(8) == 0:
            self.out += b"\x94"
            n = len(self.memo)
            self.memo[n] = self.stack[-1]
            return
        self.out += (b"q" + le(n, 1)) if n < 256 and self.rng.randrange(3) else self.pick(b"r" + le(n, 4), b"p" + self.decimal(n).encode() + b"\n")
        self.memo[n] = self.stack[-1]

    def get(self, n, kind=None):
        self.out += (b"h" + le(n, 1)) if n < 256 and self.rng.randrange(3) else self.pick(b"j" + le(n, 4), b"g" + self.decimal(n).encode() + b"\n")
        self.stack.append(kind or self.memo.get(n, "plain"))

    def pop(self):
        self.out += b"0"
        self.stack.pop()

    def arguments(self):
        """Pushes a tuple."""
        n = self.rng.randrange(5)
        if n == 0:
            self.out += self.pick(b")", b"(t")
            self.stack.append("tuple")
            return
        long = n == 4
        if long or self.rng.randrange(3) == 0:
            self.out += b"("
            for _ in range(n):
                self.value()
            self.out += b"t"
            self.take(n)
        else:
            for _ in range(n):
                self.value()
            self.out += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[n]
            self.take(n)
        self.stack.append("tuple")

    def call(self):
        way = self.rng.randrange(5)
        if way == 0:
            self.name()
            self.arguments()
            self.out += b"R"
            self.take(2)
        elif way == 1:
            self.name()
            self.arguments()
            self.out += b"\x81"
            self.take(2)
        elif way == 2:
            self.name()
            self.arguments()
            self.out += b"}\x92"
            self.take(2)
        elif way == 3:
            self.out += b"("
            self.stack.append(None)
            self.name()
            for _ in range(self.rng.randrange(3)):
                self.value()
            self.out += b"o"
            while self.stack and self.stack.pop() is not None:
                pass
        elif self.memo and self.rng.randrange(2):
            self.get(self.rng.choice(list(self.memo)))
            self.arguments()
            self.out += b"R"
            self.take(2)
        else:
            code = self.pick(*EXTENSIONS)
            self.out += b"\x82" + le(code, 1) if code < 256 else b"\x84" + le(code, 4)
            self.stack.append("name")
            self.arguments()
            self.out += b"R"
            self.take(2)
        self.stack.append("made")

    def change(self):
        """BUILD and the like on the top item."""
        if not self.room(1):
            return
        kind = self.stack[-1]
        way = self.rng.randrange(6)
        if kind in ("made", "persistent") and way == 0:
            self.out += b"}"
            self.stack.append("dict")
            self.text(self.pick("__setstate__", "append", "extend", "add", "x"))
            self.name()
            self.out += b"s"
            self.take(2)
            self.out += b"b"
            self.take(1)
        elif kind in ("made", "persistent", "name") and way < 3:
            self.value()
            self.out += b"b"
            self.take(1)
        elif kind in ("list", "made") and way < 5:
            if self.rng.randrange(2):
                self.value()
                self.out += b"a"
                self.take(1)
            else:
                self.out += b"("
                n = self.rng.randrange(3)
                for _ in range(n):
                    self.value()
                self.out += b"e"
                self.take(n)
        elif kind in ("dict", "made"):
            self.text("key")
            self.value()
            self.out += b"s"
            self.take(2)
        elif kind == "set":
            self.out += b"(K\x01K\x02\x90"

    def persistent(self):
        if self.rng.randrange(2):
            self.out += b"P" + self.pick(b"17", b"os.system", b"") + b"\n"
        else:
            self.value()
            self.out += b"Q"
            self.take(1)
        self.stack.append("persistent")

    def step(self):
        way = self.rng.randrange(16)
        if way < 3:
            self.value()
        elif way < 6:
            self.call()
        elif way < 8:
            self.name()
        elif way < 10:
            self.change()
        elif way == 10:
            self.persistent()
        elif way == 11 and self.room(1):
            self.juggle()
        elif way == 12 and self.room(1):
            self.put(self.index())
        elif way == 13 and self.memo:
            self.get(self.rng.choice(list(self.memo)))
        elif way == 14 and self.room(2) and self.rng.randrange(2):
            self.out += b"\x86"
            self.take(2)
            self.stack.append("tuple")
        elif way == 15 and self.room(1):
            self.pop()

    def stream(self):
        if self.protocol >= 2 or self.rng.randrange(4) == 0:
            self.out += b"\x80" + le(self.protocol, 1)
        body_at = len(self.out)
        for _ in range(self.rng.randrange(1, 12)):
            self.step()
        if not self.room(1):
            self.out += b"N"
        self.out += b"."
        if self.protocol >= 4 and self.rng.randrange(2):
            body = bytes(self.out[body_at:])
            wrong = self.rng.randrange(12) == 0
            self.out[body_at:] = b"\x95" + le(max(0, len(body) + (self.rng.randrange(-9, 9) if wrong else 0)), 8) + body
        return bytes(self.out)


def honest(rng):
    """What pickle.dumps writes of a value with objects in it."""
    import collections as c
    value = {"a": [1, 2.5, None], "b": (c.OrderedDict(x=1), c.Counter("aab")), "c": {1, 2}, "d": frozenset([3]), "e": complex(1, 2), "f": bytearray(b"xyz"), "g": range(3)}
    return pickle.dumps(value, rng.randrange(6))


OPCODES = b"(.012FIJKLMNPQRSTUVXabcdeghijlopqrstu})]\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98BCG"


def damaged(rng, data, other):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(8)
        if way == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif way == 1 and at < len(data):
            data[at] = rng.choice(OPCODES)
        elif way == 2:
            data[at:at] = bytes([rng.choice(OPCODES)])
        elif way == 3:
            del data[at:at + rng.randrange(1, 5)]
        elif way == 4:
            del data[at:]
        elif way == 5:
            cut = rng.randrange(len(other) + 1)
            data = data[:at] + other[cut:]
        elif way == 6:
            end = min(len(data), at + rng.randrange(1, 20))
            data[at:at] = data[at:end]
        else:
            data[at:at] = b"\x95" + le(rng.choice([0, 1, 2, 5, 20, 300]), 8)
    return bytes(data)


def make(rng):
    data = honest(rng) if rng.randrange(20) == 0 else Maker(rng).stream()
    if rng.randrange(40) == 0:  # far away
        data = data[:2] + b"0".join([b"B" + le(n, 4) + bytes(n) for n in [rng.choice([4000, 5000, 70000, 140000])]]) + b"0" + data[2:]
    if rng.randrange(2):
        data = damaged(rng, data, Maker(rng).stream())
    return data
