#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's edges, which golden files cannot show: closed pipes, full disks, Ctrl-C, the terminal, colour, and what --generate
prints.

usage: process_test.py PROGRAM"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROGRAM = os.path.abspath(sys.argv.pop(1))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "safetensors")
LAYERS = os.path.join(DATA, "layers.safetensors")


def run(*words, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG")}
    clean.update(environment)
    return subprocess.run([PROGRAM, *words], capture_output=True, env=clean, timeout=120)


def write_safetensors(path, tensors):
    """tensors: {name: number of U8 elements}; the data is a hole in the file."""
    header, at = {}, 0
    for name, size in tensors.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)


def run_on_terminal(words, columns=80, **environment):
    """What it prints when standard output is a terminal."""
    import fcntl
    import termios
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")}
    clean.update({"TERM": "xterm", "LANG": "C.UTF-8"}, **environment)
    process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL, env=clean)
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        out += piece
    os.close(master)
    process.wait(timeout=60)
    return out.decode().replace("\r\n", "\n")


class Edges(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    @unittest.skipUnless(os.path.exists("/proc/self/status"), "no /proc")
    @unittest.skipIf(b"__asan_init" in pathlib.Path(PROGRAM).read_bytes(), "the sanitizer keeps what is freed")
    def test_a_scan_of_many_files_holds_few(self):
        def peak(count, *flags):
            folder = self.path("of%d" % count)
            if not os.path.isdir(folder):
                os.mkdir(folder)
                for i in range(count):
                    os.link(self.path("a.npz"), os.path.join(folder, "%d.npz" % i))
            # The answer is taken a page at a time: meanwhile the process stands still to be looked at.
            process = subprocess.Popen([PROGRAM, "scan", folder, *flags], stdout=subprocess.PIPE, bufsize=0, pipesize=4096)
            seen = 0
            while process.stdout.read(4096):
                with open("/proc/%d/status" % process.pid) as status:
                    high = re.search(r"VmHWM:\s*(\d+)", status.read())
                seen = max(seen, 1024 * int(high[1]) if high else 0)
            process.stdout.close()
            self.assertEqual(process.wait(), 0)
            return seen

        with zipfile.ZipFile(self.path("a.npz"), "w") as archive:
            for i in range(120):
                archive.writestr("array%d.npy" % i, b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
                                 .ljust(117) + b"\n" + bytes(4))
        for flags in [("-v",), ("--ndjson",)]:
            self.assertLess(peak(4000, *flags) - peak(10, *flags), 16 << 20, flags)  # all reports together take 37 MB

    def test_closed_pipe_is_a_quiet_end(self):
        write_safetensors(self.path("big.safetensors"), {"x": 1 << 22})
        process = subprocess.Popen([PROGRAM, "dump", self.path("big.safetensors")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(process.stdout.read(16).startswith(b"x\tU8"))
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "tensors", LAYERS], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"cannot write to standard output", done.stderr)

    def test_interrupt_keeps_the_document_whole(self):
        write_safetensors(self.path("big.safetensors"), {"x": 1 << 27, "y": 8})
        process = subprocess.Popen([PROGRAM, "dump", self.path("big.safetensors"), "--json"], stdout=subprocess.PIPE)
        out = process.stdout.read(1 << 16)
        process.send_signal(signal.SIGINT)
        out += process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 130)
        document = json.loads(out)
        self.assertIs(document["complete"], False)
        self.assertLess(len(document["tensors"][0]["values"]), 1 << 27)

    def test_files_that_shrink_are_noticed(self):
        # Mapped data that is cut away while it is read must neither kill the process nor pass for zeros.
        write_safetensors(self.path("big.safetensors"), {"x": 1 << 26})
        process = subprocess.Popen([PROGRAM, "dump", self.path("big.safetensors"), "--json"], stdout=subprocess.PIPE)
        out = process.stdout.read(4096)
        os.truncate(self.path("big.safetensors"), 4096)
        out += process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 2)
        document = json.loads(out)
        codes = [f["code"] for f in document["findings"]] + [document.get("error", {}).get("code")]
        self.assertIn("file-changed", codes)

    def test_colour_is_decided_in_order(self):
        self.assertNotIn("\x1b", run("info", LAYERS).stdout.decode())
        self.assertIn("\x1b", run("info", LAYERS, "--color", "always", NO_COLOR="1").stdout.decode())
        self.assertIn("\x1b", run("info", LAYERS, FORCE_COLOR="1").stdout.decode())
        self.assertNotIn("\x1b", run("info", LAYERS, FORCE_COLOR="0").stdout.decode())
        self.assertNotIn("\x1b", run("info", LAYERS, FORCE_COLOR="1", NO_COLOR="1").stdout.decode())
        self.assertIn("\x1b", run_on_terminal(["info", LAYERS]))
        self.assertNotIn("\x1b", run_on_terminal(["info", LAYERS], TERM="dumb"))
        self.assertNotIn("\x1b", run_on_terminal(["info", LAYERS, "--no-color"]))

    def picture_on(self, answer, **environment):
        """What heatmap prints on a terminal that answers a question for its attributes with `answer`."""
        pid, master = pty.fork()
        if pid == 0:
            os.environ.update({"TERM": "xterm-256color", "LANG": "C.UTF-8", "TMUX": "", "TERM_PROGRAM": ""}, **environment)
            os.environ.pop("NO_COLOR", None)
            if "COLORTERM" not in environment:
                os.environ.pop("COLORTERM", None)
            os.execv(PROGRAM, [PROGRAM, "heatmap", os.path.join(DATA, "values.safetensors"), "floats"])
        out, answered = b"", False
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
            if out.endswith(b"\x1b[c") and not answered:
                answered = True
                os.write(master, answer)
        os.close(master)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        return out, answered

    def test_pictures_are_what_the_terminal_takes(self):
        self.assertIn(b"\x1b_Ga=T,f=100", self.picture_on(b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c")[0])
        self.assertIn(b"\x1bP0;1q", self.picture_on(b"\x1b[?62;4;22c")[0])
        out, answered = self.picture_on(b"\x1b[?62;22c")
        self.assertTrue(answered)
        self.assertIn(b"\x1b[38;5;", out)
        self.assertIn("▀".encode(), out)
        self.assertIn(b"\x1b[38;2;", self.picture_on(b"\x1b[?62;c", COLORTERM="truecolor")[0])
        for known in ({"TERM": "screen-256color"}, {"TMUX": "/tmp/tmux"}):
            out, answered = self.picture_on(b"", **known)
            self.assertFalse(answered)
            self.assertIn(b"\x1b[38;5;", out)
        out, answered = self.picture_on(b"", TERM_PROGRAM="iTerm.app")
        self.assertFalse(answered)
        self.assertIn(b"\x1b]1337;File=inline=1", out)

    def test_a_picture_goes_to_standard_output(self):
        words = ("heatmap", LAYERS, "lm_head.weight", "-o")
        piped = run(*words, "-")
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.png")
            run(*words, path)
            with open(path, "rb") as f:
                self.assertEqual(f.read(), piped.stdout, "the picture and nothing else")
        self.assertEqual(run_on_terminal((*words, "-")), "", "a terminal gets no PNG")

    def test_tables_fit_the_terminal(self):
        for columns in (60, 80, 120):
            for command in ("tensors", "stats"):
                for line in run_on_terminal([command, LAYERS, "--no-color"], columns=columns).splitlines():
                    self.assertLessEqual(len(line), columns, (command, columns, line))

    def test_characters_follow_the_locale(self):
        self.assertIn("×", run("tensors", LAYERS).stdout.decode())
        run("tensors", LAYERS, LANG="de_DE.ISO-8859-1").stdout.decode("ascii")
        self.assertIn("×", run("tensors", LAYERS, LANG="de_DE.UTF-8").stdout.decode())

    def test_no_mmap_reads_the_same(self):
        self.assertEqual(run("dump", LAYERS).stdout, run("dump", LAYERS, "--no-mmap").stdout)

    def test_order_in_json_is_that_of_the_file(self):
        write_safetensors(self.path("a.safetensors"), {"l.10": 1, "l.2": 1, "b": 1})
        names = [t["name"] for t in json.loads(run("tensors", self.path("a.safetensors"), "--json").stdout)["tensors"]]
        self.assertEqual(names, ["l.10", "l.2", "b"])
        text = run("tensors", self.path("a.safetensors")).stdout.decode()
        self.assertEqual([line.split()[0] for line in text.splitlines()[1:4]], ["b", "l.2", "l.10"])

    def test_deep_and_long_names(self):
        write_safetensors(self.path("deep.safetensors"), {"." * 60000: 1, "a" * 60000: 1, "x.y": 1})
        for command in ("info", "tensors", "tree", "dump"):
            self.assertEqual(run(command, self.path("deep.safetensors")).returncode, 0, command)
            json.loads(run(command, self.path("deep.safetensors"), "--json").stdout)


class Generated(unittest.TestCase):
    def generate(self, what):
        done = run("--generate", what)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def commands(self):
        text = run("--help").stdout.decode()
        listed = text[text.index("\nCommands\n"):text.index("\nFlags of every command")]
        return re.findall(r"^  ([a-z]+)", listed, re.M)

    def test_every_command_and_flag_is_in_all_of_them(self):
        commands = self.commands()
        self.assertIn("tensors", commands)
        texts = {what: self.generate(what) for what in ("man", "complete-bash", "complete-zsh", "complete-fish", "markdown")}
        for command in commands:
            usage = run(command, "--help").stdout.decode()
            self.assertIn("\nExamples\n", usage)
            flags = re.findall(r"^ +(?:-[a-zA-Z], )?(--[a-z-]+)", usage, re.M)
            self.assertIn("--json", flags)
            for what, text in texts.items():
                self.assertIn(command, text, what)
                for flag in flags:
                    form = {"man": flag.replace("-", "\\-"), "complete-fish": "-l " + flag[2:]}.get(what, flag)
                    self.assertIn(form, text, (what, command, flag))

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash_completes(self):
        script = self.generate("complete-bash") + """
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _assay; printf '%s\\n' "${COMPREPLY[@]}"; }
"""
        for words, wanted in (("ten", ["tensors"]), ("tensors x --so", ["--sort"]), ("tensors x --sort s", ["size"]), ("ls x --sort s", ["size"]),
                              ("ls x -s nu", ["numel"]), ("--color a", ["auto", "always"]), ("help sy", ["synth"])):
            done = subprocess.run(["bash", "--norc", "-c", script + "complete_words assay " + words], capture_output=True, text=True)
            self.assertEqual((done.stdout.split(), done.stderr), (wanted, ""), words)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_parses(self):
        done = subprocess.run(["zsh", "-n"], input=self.generate("complete-zsh"), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_parses(self):
        done = subprocess.run(["fish", "-n"], input=self.generate("complete-fish"), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_man_page_has_no_warnings(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as f:
            f.write(self.generate("man"))
            f.flush()
            done = subprocess.run(["man", "--warnings", "-l", f.name], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
