#!/usr/bin/env python3
"""Measures what the programs weigh: size, start, idle memory, spawn to first request.

usage: footprint.py CLAW THREE_TOOLS        (both stripped release builds; see README.md)

Needs Linux and nothing but Python. The service it starts answers every request with one word.
"""
import json, os, pty, re, socket, subprocess, sys, tempfile, threading, time

CLAW, THREE = sys.argv[1:3]
ANSWER = json.dumps({"id": "1", "object": "chat.completion", "model": "mock", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}).encode()
arrivals = []


def serve(listener):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=answer, args=(stream,), daemon=True).start()


def answer(stream):
    held = b""
    while chunk := stream.recv(1 << 16):
        if not held:
            arrivals.append(time.monotonic())
        held += chunk
        head, _, body = held.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if length and len(body) >= int(length[1]):
            stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER)
            held = b""


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
BASE = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
# An empty home, so that nobody's settings count.
HOME = tempfile.mkdtemp()
ENV = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "xterm", "OPENAI_API_KEY": "k"}


def runs(command, times=31):
    """Milliseconds from spawn to exit, and from spawn to the first request: the least, as other load only adds."""
    whole, first = [], []
    for _ in range(times):
        arrivals.clear()
        start = time.monotonic()
        subprocess.run(command, env=ENV, cwd=HOME, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        whole.append((time.monotonic() - start) * 1e3)
        first += [(arrivals[0] - start) * 1e3] if arrivals else []
    return min(whole), min(first, default=None)


def idle(command):
    """Memory in MB of a program that waits at its prompt in a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(HOME)
        os.execve(command[0], command, ENV)
    threading.Thread(target=lambda: iter(lambda: os.read(fd, 4096), b"").__next__, daemon=True).start()
    time.sleep(1.5)
    status = open(f"/proc/{pid}/status").read()
    figures = {key: int(re.search(rf"{key}:\s+(\d+)", status)[1]) / 1e3 for key in ("VmRSS", "VmHWM")}
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return figures


for name, program in (("claw", CLAW), ("three_tools", THREE)):
    print(f"{name:<12} size             {os.path.getsize(program) / 1e6:6.2f} MB")
for arguments in (["--version"], ["tools", "list"]):
    print(f"claw         {' '.join(arguments):<16} {runs([CLAW, *arguments])[0]:6.2f} ms")
claw_run = [CLAW, "run", "--model", "openai:mock", "--base-url", BASE, "Hello"]
for name, command in (("claw", claw_run), ("three_tools", [THREE, BASE, "mock", "Hello"])):
    whole, first = runs(command)
    print(f"{name:<12} first request    {first:6.2f} ms; one turn {whole:.2f} ms")
claw_chat = [CLAW, "chat", "--model", "openai:mock", "--base-url", BASE]
for name, command in (("claw chat", claw_chat), ("three_tools", [THREE, BASE, "mock"])):
    figures = idle(command)
    print(f"{name:<12} idle             {figures['VmRSS']:6.2f} MB resident, {figures['VmHWM']:.2f} MB at most")
