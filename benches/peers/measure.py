#!/usr/bin/env python3
"""Measures claw, the floor and its peers as whole programs in one run, and prints them beside each other.

usage: measure.py [--build] [--only NAME,NAME] [--quick] [--out FILE]

Needs Linux and nothing but Python. `--build` compiles the programs first (minutes). Peers in Python take part where
PEER_PYTHON names an interpreter that has pydantic-ai-slim[openai] and openai-agents. Ratios are to `floor`: reqwest with
the same TLS as claw's. The least of several passes counts where more work can only add to a figure.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
PROGRAMS = os.path.join(TARGET, "programs")

arguments = argparse.ArgumentParser(usage=__doc__)
arguments.add_argument("--build", action="store_true")
arguments.add_argument("--quick", action="store_true")
arguments.add_argument("--only", default="")
arguments.add_argument("--out")
A = arguments.parse_args()

# Name, folder of its package, profile, options. One build each: built together, each would get the features of all.
BUILDS = [
    ("mock", "common", "peer", []),
    ("floor-hyper", "floor-hyper", "peer", []),
    ("floor", "floor", "peer", []),
    ("floor-no-tls", "floor", "peer", ["--no-default-features"]),
    ("claw", "claw", "release", []),
    ("claw-sqlite", "claw", "release", ["--features", "sqlite"]),
    ("rig", "rig", "peer", []),
    ("rmcp", "rmcp", "peer", []),
    ("tools-rs", "tools-rs", "peer", []),
]
ONLY = [name for name in A.only.split(",") if name]
NO_AGENT = ("rmcp", "tools-rs")


def build():
    os.makedirs(PROGRAMS, exist_ok=True)
    for name, folder, profile, options in BUILDS:
        if ONLY and name not in ONLY and name != "mock":
            continue
        binary = {"floor-no-tls": "floor", "claw-sqlite": "claw"}.get(name, name)
        command = ["cargo", "build", "--profile", profile, "--target-dir", TARGET, "--bin", f"bench-{binary}", *options]
        # A peer that does not build is left out.
        if subprocess.run(command, cwd=os.path.join(HERE, folder)).returncode == 0:
            shutil.copy(os.path.join(TARGET, profile, f"bench-{binary}"), os.path.join(PROGRAMS, name))


if A.build:
    build()
PEERS = {name: [os.path.join(PROGRAMS, name)] for name, *_ in BUILDS[1:]}
PEERS = {name: command for name, command in PEERS.items() if os.path.exists(command[0])}
if python := os.environ.get("PEER_PYTHON"):
    for name in ("pydantic-ai", "openai-agents"):
        PEERS[name] = [python, os.path.join(HERE, "python", name.replace("-", "_") + "_peer.py")]
if ONLY:
    PEERS = {name: command for name, command in PEERS.items() if name in ONLY}
IN_PYTHON = [name for name in PEERS if name in ("pydantic-ai", "openai-agents")]
FIGURES = {}  # of a name and a peer


def note(peer, name, value):
    if value is not None:
        FIGURES.setdefault(name, {})[peer] = value


def environment(peer, **more):
    if peer == "claw-sqlite":
        more["BENCH_STORE"] = os.path.join(tempfile.mkdtemp(dir=SCRATCH), "sessions.db")
    return dict(os.environ, OPENAI_API_KEY="k", OPENAI_BASE_URL=BASE, **more)


def ran(peer, *mode, **more):
    """The figures a program prints: of each line by its name."""
    command = [*PEERS[peer], mode[0], BASE, *map(str, mode[1:])]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment(peer, **more))
    if run.returncode:
        print(f"{peer} {mode} failed: {run.stderr[-600:]}", file=sys.stderr)
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return {line.pop("what"): line for line in lines}


def least(passes, of):
    found = [value for value in (of() for _ in range(passes)) if value is not None]
    return min(found, default=None)


def get(path):
    return json.load(urllib.request.urlopen(BASE.removesuffix("/v1") + path, timeout=10))


def start(peer):
    """Milliseconds from spawn to the first request, and to the second, which carries the first tool's result."""
    get("/forget")
    begin = time.monotonic_ns()
    subprocess.run([*PEERS[peer], "once", BASE, "1"], stdout=subprocess.DEVNULL, env=environment(peer), check=True)
    times = get("/times")
    return [(times[which] - begin) / 1e6 for which in ("first_ns", "last_ns")]


def idle(peer):
    program = subprocess.Popen([*PEERS[peer], "idle", BASE], stdout=subprocess.PIPE, text=True, env=environment(peer))
    program.stdout.readline()
    time.sleep(0.4)
    status = open(f"/proc/{program.pid}/status").read()
    program.kill()
    program.wait()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1e3


def round_cost(peer, times, mode=("turns",), figure="turn_cpu_us", **more):
    """Microseconds of processor time a tool round: the slope between turns of 2 and of 22, each the tenth of a hundred,
    as what else the machine does empties caches."""
    few, many = (ran(peer, *mode, rounds, times, **more).get(figure) for rounds in (2, 22))
    return (many["p10"] - few["p10"]) / 20 if few and many else None


def measure():
    passes = 1 if A.quick else 3
    agents = [name for name in PEERS if name not in NO_AGENT]
    for peer, command in PEERS.items():
        if peer not in IN_PYTHON:
            note(peer, "program, MB", os.path.getsize(command[0]) / 1e6)
        note(peer, "idle memory, MB", idle(peer))
    for peer in agents:
        starts = [start(peer) for _ in range(7 if A.quick or peer in IN_PYTHON else 31)]
        for name, times in zip(("spawn to first request, ms", "spawn to first result sent, ms"), zip(*starts)):
            note(peer, name, statistics.median(times[1:]))
    # Peer by peer within a pass, so that what else the machine does meets all of them.
    for _ in range(passes):
        for peer in agents:
            times = 20 if peer in IN_PYTHON else 300
            for name, how in (
                ("tool round, one thread, cpu µs", dict(BENCH_THREADS="1")),
                ("tool round, two workers, cpu µs", {}),
            ):
                cost = round_cost(peer, times, **how)
                note(peer, name, min(cost, FIGURES.get(name, {}).get(peer, cost)) if cost else None)
    for messages in (10, 1_000, 10_000):
        for peer in agents:
            times = 20 if messages > 1_000 else 100
            cost = round_cost(peer, times, mode=("after", messages), BENCH_THREADS="1")
            note(peer, f"tool round after {messages:,} messages, one thread, cpu µs", cost)
    # Time, not processor time: a sync is waited for.
    for peer in ("floor", "claw-sqlite"):
        if peer in PEERS:
            journal = os.path.join(SCRATCH, "journal")
            for name, figure in (("µs", "turn_us"), ("cpu µs", "turn_cpu_us")):
                cost = round_cost(peer, 20, figure=figure, BENCH_THREADS="1", BENCH_JOURNAL=journal)
                note(peer, f"tool round kept and synced, {name}", cost)
    for peer in PEERS:
        note(peer, "one call of 3 arguments, ns", least(passes, lambda: ran(peer, "call").get("call_ns", {}).get("min")))
    for at_once in (1, 32, 256):
        for _ in range(passes):
            for peer in agents:
                all_turns = 150 if peer in IN_PYTHON else 500 if at_once == 1 else 3000
                line = ran(peer, "sessions", at_once, all_turns, 3).get(f"sessions_{at_once}")
                if line:
                    name = f"turns a second, {at_once} at once"
                    note(peer, name, max(line["per_second"], FIGURES.get(name, {}).get(peer, 0)))
                    name = f"a turn of these, cpu µs, {at_once} at once"
                    note(peer, name, min(line["cpu_us"], FIGURES.get(name, {}).get(peer, line["cpu_us"])))
    for at_once in (100, 1000):
        for peer in agents:
            line = ran(peer, "streams", at_once).get(f"streams_{at_once}", {})
            note(peer, f"an open stream of {at_once}, kB", line.get("kb_each"))


def show():
    width = max(map(len, PEERS)) + 2
    for name, of in FIGURES.items():
        print(f"\n{name}")
        for peer, value in of.items():
            ratio = f"{value / of['floor']:9.2f} ×" if of.get("floor") else ""
            print(f"  {peer:<{width}}{value:12.2f}{ratio}")


SCRATCH = tempfile.mkdtemp(dir=TARGET)
mock = subprocess.Popen([os.path.join(PROGRAMS, "mock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    BASE = mock.stdout.readline().strip()
    before = os.getloadavg()[0]
    measure()
    print(f"{os.cpu_count()} processors, load {before:.1f} before and {os.getloadavg()[0]:.1f} after")
    show()
    if A.out:
        with open(A.out, "a") as out:
            out.write(json.dumps({"time": int(time.time()), "load": before, "figures": FIGURES}) + "\n")
finally:
    mock.kill()
    shutil.rmtree(SCRATCH, ignore_errors=True)
