#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What listing costs as a whole process, against bars that hold on any machine: ratios and differences taken in one run.

    list.py --assay build/bench/assay [--rounds 15] [--work build/bench-inputs] [--results bench/results] [--only NAME]

Times are CPU time (user and system) of the whole process: on a busy machine wall time says more about the others. Where several threads
work, wall time is told too. Every round runs every command once, in an order that changes, so that a slow moment touches all of them; the
median is told. Exits 1 when a bar is missed by more than a half, so that noise alone does not fail it.
"""
import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

import inputs


def run(command):
    """CPU seconds and wall seconds of one process."""
    before = time.perf_counter()
    with open(os.devnull, "wb") as sink:
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, sink.fileno(), 1)])
        _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit("%s: status %d" % (" ".join(command), os.waitstatus_to_exitcode(status)))
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - before


def peak_anonymous(command):
    """The largest anonymous memory seen, in bytes. The answer is taken a page at a time, so that the process, which by its first line has
    opened the checkpoint and frees little before it ends, stands still to be looked at."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0, pipesize=4096)
    peak = 0
    while process.stdout.read(4096):
        with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
            anonymous = re.search(r"RssAnon:\s*(\d+)", file.read())
        if anonymous:  # a process that is ending has none
            peak = max(peak, 1024 * int(anonymous[1]))
    if process.wait() != 0 or peak == 0:
        raise SystemExit("%s: memory not seen" % " ".join(command))
    return peak


class Bench:
    def __init__(self, arguments):
        self.assay = os.path.abspath(arguments.assay)
        self.rounds = arguments.rounds
        self.rows = []
        self.missed = 0

    def medians(self, commands, rounds=None):
        """Median CPU seconds and wall seconds of each command, the commands taken in turns."""
        for command in commands:
            run(command)  # warms the page cache
        times = [[] for _ in commands]
        turns = list(zip(commands, times))
        for _ in range(rounds or self.rounds):
            for command, kept in turns:
                kept.append(run(command))
            turns.append(turns.pop(0))
        return [tuple(map(statistics.median, zip(*kept))) for kept in times]

    def row(self, what, value, bar, unit, least=False):
        """`bar` is the most that is allowed, or the least."""
        good = value >= bar if least else value <= bar
        far = value < bar / 1.5 if least else value > bar * 1.5
        self.missed += far
        self.rows.append((what, "%.3g %s" % (value, unit), "%s %g %s" % (">=" if least else "<=", bar, unit), "yes" if good else "NO"))
        print("%-64s %12.3g %-6s (bar %s %g) %s" % (what, value, unit, ">=" if least else "<=", bar, "" if good else "MISSED"), flush=True)


def bench_torch(bench, work):
    small, large = os.path.join(work, "small.pt"), os.path.join(work, "large.pt")
    inputs.torch_zip(small, inputs.names(1000), 1024)
    inputs.torch_zip(large, inputs.names(1000), 2621440)  # 1000 x 10 MiB, all holes
    # A few milliseconds each, and the ratio is to tell a twentieth: many rounds.
    (start, _), (listed, wall), (listed_large, wall_large) = bench.medians(
        [[bench.assay, "--version"], [bench.assay, "tensors", small], [bench.assay, "tensors", large]], max(bench.rounds, 401))
    bench.row("--version", 1e3 * start, 3, "ms")
    bench.row("list a .pt of 1000 tensors, beyond --version", 1e3 * (listed - start), 3, "ms")
    bench.row("the same in a file of 10 GB / in one of 4 MB", listed_large / listed, 1.05, "x")
    bench.row("the same, wall time", wall_large / wall, 1.05, "x")
    bench.row("anonymous memory, 1000 tensors", peak_anonymous([bench.assay, "tensors", large]) / 1e6, 8 + 1000 * 250 / 1e6, "MB")


def bench_safetensors(bench, work):
    path = os.path.join(work, "100k.safetensors")
    header = inputs.safetensors(path, inputs.names(100000), 4096)
    (listed, _), = bench.medians([[bench.assay, "tensors", path]])
    python = []
    for _ in range(5):
        before = time.process_time()
        json.loads(header)
        python.append(time.process_time() - before)
    bench.row("list a safetensors of 100,000 tensors (%.1f MB header)" % (len(header) / 1e6), 1e3 * listed, 30, "ms")
    bench.row("json.loads of that header / all of it", statistics.median(python) / listed, 10, "x", least=True)
    bench.row("anonymous memory, 100,000 tensors", peak_anonymous([bench.assay, "tensors", path]) / 1e6, 8 + 100000 * 250 / 1e6, "MB")


def bench_shards(bench, work):
    count = 252000
    index, size = inputs.shard_set(os.path.join(work, "shards"), count, 64)
    (listed, wall), = bench.medians([[bench.assay, "info", index]], max(bench.rounds, 31))
    bench.row("info of 64 shards, %d tensors, %.1f MB index, wall time" % (count, size / 1e6), 1e3 * wall, 50, "ms")
    bench.row("the same, CPU time", 1e3 * listed, 75, "ms")
    few, few_size = inputs.shard_set(os.path.join(work, "few"), 6400, 64)
    (listed, _), = bench.medians([[bench.assay, "info", few]])
    bench.row("info of 64 shards, 6400 tensors, %.1f MB index" % (few_size / 1e6), 1e3 * listed, 10, "ms")


BENCHES = {"torch": bench_torch, "safetensors": bench_safetensors, "shards": bench_shards}


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return "%s, %d cores, Linux %s" % (model, os.cpu_count() or 1, platform.release())


def save(folder, rows):
    now = datetime.datetime.now()
    path = os.path.join(folder, "%s-%s.md" % (now.date(), platform.machine()))
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8") as file:
        if new:
            file.write("# Benchmarks, %s\n\n%s\n" % (now.date(), machine()))
        file.write("\n## Listing, load %.1f at the start\n\n| what | measured | bar | kept |\n|---|---|---|---|\n" % LOAD)
        file.writelines("| %s |\n" % " | ".join(row) for row in rows)
    print("written to", path)


LOAD = os.getloadavg()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    parser.add_argument("--work", default=os.path.join(root, "build", "bench-inputs"))
    parser.add_argument("--results", default=os.path.join(root, "bench", "results"))
    parser.add_argument("--only", choices=sorted(BENCHES))
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    os.makedirs(arguments.results, exist_ok=True)
    bench = Bench(arguments)
    for name, function in BENCHES.items():
        if arguments.only in (None, name):
            function(bench, arguments.work)
    save(arguments.results, bench.rows)
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
