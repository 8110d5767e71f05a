"""What toolkits cost: turns without and with them, one call through the gateway, processes and memory.

    python3 benches/toolkits/measure.py --program target/release/codeinfo --codex CODEX --repository PATH \\
        --server 'node …/server-everything/dist/index.js' [--before OTHER_PROGRAM]

Needs Python 3.11 and nothing else. The model is a script on loopback, which answers at once; Codex is real. Prints a table.
"""
import argparse
import http.client
import http.server
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request


class Model(http.server.BaseHTTPRequestHandler):
    """Answers every request with one message."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
        usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
        events = [{"type": "response.created", "response": {"id": "r"}},
                  {"type": "response.output_item.added", "output_index": 0, "item": message},
                  {"type": "response.output_item.done", "output_index": 0, "item": message},
                  {"type": "response.completed", "response": {"id": "r", "usage": usage}}]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server:
    """One `codeinfo serve`, in folders of its own."""

    def __init__(self, options, program, model_port, toolkits, more):
        self.folder = tempfile.TemporaryDirectory(dir=options.scratch)
        root = pathlib.Path(self.folder.name)
        home = root / "codex"
        home.mkdir()
        (home / "config.toml").write_text(
            f'model = "mock"\nmodel_provider = "mock"\ncheck_for_update_on_startup = false\n'
            f'[model_providers.mock]\nname = "mock"\nbase_url = "http://127.0.0.1:{model_port}/v1"\nwire_api = "responses"\n')
        file = root / "toolkits.json"
        file.write_text(json.dumps({"mcpServers": toolkits}))
        environment = {"PATH": os.environ["PATH"], "HOME": str(root), "DATA_DIR": str(root / "data"), "PORT": "0", "MCP_PORT": "0",
                       "CODEX_BIN": options.codex, "CODEX_HOME": str(home), "TOOLKITS_FILE": str(file), "LOG_LEVEL": "warn", **more}
        self.root = root
        self.process = subprocess.Popen([program, "serve", options.repository], env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.port = None
        while self.port is None:
            line = self.process.stdout.readline()
            if "HTTP API" in line:
                self.port = int(line.rsplit(":", 1)[1].strip().strip("/"))
        while not self.ready():
            time.sleep(0.05)

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready") as reply:
                return reply.status == 200
        except OSError:
            return False

    def post(self, path, body, key=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    def turn(self):
        began = time.perf_counter()
        status, text = self.post("/chat", {"question": "?"})
        assert status == 200 and "event: final" in text, text
        return (time.perf_counter() - began) * 1000

    def children(self):
        """Processes below this one, with their resident memory in MiB."""
        found, below = {}, {self.process.pid}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
                found[int(stat.parent.name)] = (int(fields[1]), int(fields[21]) * 4096 / 2**20, (stat.parent / "cmdline").read_text())
            except OSError:
                pass
        while True:
            more = {pid for pid, (parent, _, _) in found.items() if parent in below} - below
            if not more:
                break
            below |= more
        return [found[pid] for pid in below if pid in found]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def direct(command, rounds):
    """Times calls of a server over its standard streams."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(number, method, params):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        process.stdin.flush()
        while True:
            reply = json.loads(process.stdout.readline())
            if reply.get("id") == number:
                return reply

    ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "measure", "version": "1"}})
    process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    times = []
    for number in range(rounds):
        began = time.perf_counter()
        assert "result" in ask(number + 2, "tools/call", {"name": "echo", "arguments": {"message": "x"}})
        times.append((time.perf_counter() - began) * 1000)
    process.kill()
    process.wait()
    return times


def shown(times):
    ordered = sorted(times)
    return f"{statistics.median(ordered):.2f} · {ordered[int(len(ordered) * 0.99)]:.2f}"


def main():
    parser = argparse.ArgumentParser()
    for name in ["program", "codex", "repository", "server"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--before", help="a program without toolkits, to compare with")
    parser.add_argument("--scratch", default=None, help="where folders are made")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--sandbox", default="read-only")
    options = parser.parse_args()
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    port = model.server_address[1]
    command = shlex.split(options.server)
    kit = lambda number: {"command": command[0], "args": command[1:], "env": {"NUMBER": str(number)}, "sandbox": options.sandbox, "allow": "all"}

    programs = [("toolkits off", options.program, {"TOOLKITS_ENABLED": "off"}), ("none configured", options.program, {})]
    if options.before:
        programs.insert(0, ("before", options.before, {}))
    servers = [(name, Server(options, program, port, {}, more)) for name, program, more in programs]
    times = {name: [] for name, _ in servers}
    for name, server in servers:
        server.turn()
    for _ in range(options.turns):
        for name, server in servers:
            times[name].append(server.turn())
    print("| a turn, ms | p50 · p99 |\n|---|---|")
    for name, server in servers:
        print(f"| {name} | {shown(times[name])} |")
        server.stop()

    for count in [1, 16]:
        server = Server(options, options.program, port, {f"kit{number}": kit(number) for number in range(count)}, {})
        first = server.turn()
        later = [server.turn() for _ in range(options.turns)]
        for _ in range(100 - options.turns - 1):
            server.turn()
        processes = [child for child in server.children() if command[-1] in child[2] and "sandbox" not in child[2]]
        memory = sum(memory for _, memory, _ in processes)
        own = next(memory for parent, memory, line in server.children() if line.startswith(options.program))
        print(f"| first of {count} toolkits | {first:.0f} |\n| later ones | {shown(later)} |")
        print(f"| processes after 100 turns · their MiB · ours | {len(processes)} · {memory:.0f} · {own:.0f} |")
        if count == 1:
            key = (server.root / "data/owner.key").read_text().strip()
            through = []
            for _ in range(options.calls):
                began = time.perf_counter()
                status, text = server.post("/toolkits/kit0/call", {"tool": "echo", "arguments": {"message": "x"}}, key)
                through.append((time.perf_counter() - began) * 1000)
                assert status == 200 and '"isError":false' in text, text
            print(f"| a call through the gateway over HTTP | {shown(through)} |\n| the server called directly | {shown(direct(command, options.calls))} |")
        server.stop()


main()
