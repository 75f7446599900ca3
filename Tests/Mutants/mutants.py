#!/usr/bin/env python3
"""Breaks the code in twelve ways, one at a time, and shows which tests notice.

Each mutant is one replacement in a copy of the tree under .build/mutants, built in debug; the tests that must notice
run there. A mutant that no test notices fails the run. Names of mutants as arguments run those alone.
"""

import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COPY = os.path.join(ROOT, ".build", "mutants")

# name, file, what stands there once, what the mutant makes of it, the tests that must notice
MUTANTS = [
    ("gate check removed", "Sources/Engine/Gate.swift",
     "case .draining(let through, _): min(through, committed)", "case .draining: committed",
     "GateTests"),
    ("sync skipped", "Sources/Journal/Log.swift",
     "            throw error\n        }\n        try sync(file)\n", "            throw error\n        }\n",
     "SimulationTests"),
    ("kill ignored until written", "Sources/Engine/Engine+Commands.swift",
     "        if command.intent == .kill { gate = .dead }\n", "",
     "GateTests"),
    ("batch check off by one", "Sources/Ledger/ProducerTable.swift",
     "if batch.batch <= row.batch {", "if batch.batch < row.batch {",
     "BatchTests"),
    ("drain ignores one collector", "Sources/Engine/Engine+Drain.swift",
     "names: Set(durable.keys)", "names: Set(durable.keys.sorted().dropLast())",
     "DrainTests"),
    ("gated flag lost on recovery", "Sources/Journal/RecordReading.swift",
     "gated: flags & 1 != 0,", "gated: false,",
     "FormatTests|RestartTests"),
    ("snapshot without seq", "Sources/Engine/StreamState.swift",
     "seq: last.seq, prev: last.prev)", "seq: 0, prev: last.prev)",
     "StreamTests"),
    ("late ack counted after kill", "Sources/Engine/Engine+Collectors.swift",
     "guard lifecycle.state != .killed, gate != .dead else {", "guard lifecycle.launch == shown.launch else {",
     "GateTests"),
    ("history hash not checked", "Sources/Journal/HistoryFormat.swift",
     "guard SHA256.hex(of: body) == hash else", "guard SHA256.hex(of: body).count == hash.utf8.count else",
     "HistoryChainTests|HistoryFileTests"),
    ("lease not restored", "Sources/Engine/Engine+Time.swift",
     "guard let lease = lifecycle.lease else { break }", "guard let lease = lifecycle.lease, lease.durationMs < 0 else { break }",
     "LeaseTests"),
    ("hold leaves requests in flight", "Sources/Engine/Engine+Written.swift",
     "if !transition.state.isOperating { interruptRequests(into: &effects) }",
     "if transition.state == .killed { interruptRequests(into: &effects) }",
     "SimulationTests"),
    ("provider's loss ignored", "Sources/Engine/Engine+Plugins.swift",
     "        abandonRequests(of: peer, into: &effects)\n        if let change {", "        if let change {",
     "SimulationTests"),
]


def run(*command):
    return subprocess.run(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def copy_tree():
    """Brings the copy up to date, keeping what it has built."""
    os.makedirs(COPY, exist_ok=True)
    for name in ("Package.swift", "Sources", "Tests", "plugins", "docs", "Benchmarks"):
        source, target = os.path.join(ROOT, name), os.path.join(COPY, name)
        if not os.path.exists(source):
            continue
        if os.path.isdir(source):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)


def write(path, text):
    """SwiftPM looks at times: a file that was changed twice within one of its ticks would not be built again."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    later = time.time() + 2
    os.utime(path, (later, later))
    time.sleep(2)


def try_mutant(name, file, old, new, tests):
    path = os.path.join(COPY, file)
    with open(path, encoding="utf-8") as source:
        text = source.read()
    if text.count(old) != 1:
        return "STALE", f"{file} has its place {text.count(old)} times"
    write(path, text.replace(old, new))
    try:
        built = run("swift", "build", "--build-tests")
        if built.returncode != 0:
            return "STALE", "does not compile: " + built.stdout[-400:]
        tested = run("swift", "test", "--skip-build", "--filter", tests)
    finally:
        write(path, text)
    noticed = sorted(set(re.findall(r"✘ Test (\w+)\(", tested.stdout)))
    if tested.returncode == 0:
        return "SURVIVED", tests
    return "killed", ", ".join(noticed) or "a trap: " + tested.stdout.strip().splitlines()[-1][:80]


def main():
    wanted = [mutant for mutant in MUTANTS if not sys.argv[1:] or mutant[0] in sys.argv[1:]]
    copy_tree()
    if run("swift", "build", "--build-tests").returncode != 0:
        sys.exit("the unchanged tree does not build")
    unchanged = run("swift", "test", "--skip-build", "--filter", "|".join(sorted({mutant[4] for mutant in wanted})))
    if unchanged.returncode != 0:
        sys.exit("the tests fail without any mutant:\n" + unchanged.stdout[-2000:])
    failed = False
    for mutant in wanted:
        verdict, what = try_mutant(*mutant)
        failed |= verdict != "killed"
        print(f"{mutant[0]:30} {verdict:9} {what}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
