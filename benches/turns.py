"""What a turn takes around the model: p50 of a new conversation and of a follow-up, without and with one search, and of
an answer of one sentence that cites lines, without and with the second reader.

    python3 benches/turns.py --codex CODEX --program target/release/codeinfo [--program OTHER …] --repository PATH [--repository …]

Needs Python 3.11 and nothing else. The model is a script on loopback, which answers at once; Codex is real. Programs are
measured in turns. Prints a table, and with `--body FILE` writes the first request that the model got.
"""
import argparse
import http.client
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

KINDS = ["new", "follow-up", "new, one search", "follow-up, one search", "new, cited", "new, cited and read"]
USAGE = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
         "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}


class Model(http.server.BaseHTTPRequestHandler):
    """Searches where the last message asks for it, else answers with one message; supports what it is to read."""

    protocol_version = "HTTP/1.1"
    first = None
    cited = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Model.first = Model.first or body
        request = json.loads(body)
        asked = json.dumps(request["input"][-1].get("content", ""))
        text = f"The first line says what this is ({Model.cited}:1-12)." if "cite" in asked else "Yes."
        if request.get("text", {}).get("format"):
            text = json.dumps({"verdicts": [{"number": 1, "verdict": "supported", "excerpt": None, "line": None}]})
        elif "search" in asked:
            text = None
        if text is None:
            item = {"type": "function_call", "id": "f", "call_id": "c", "namespace": "mcp__codeinfo_search",
                    "name": "VectorSearch", "arguments": '{"query": "where is a word split"}'}
        else:
            item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        events = [{"type": "response.created", "response": {"id": "r"}},
                  {"type": "response.output_item.added", "output_index": 0, "item": item},
                  {"type": "response.output_item.done", "output_index": 0, "item": item},
                  {"type": "response.completed", "response": {"id": "r", "usage": USAGE}}]
        reply = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


class Server:
    """One `codeinfo serve`, in folders of its own."""

    def __init__(self, options, program, model_port):
        self.folder = tempfile.TemporaryDirectory(dir=options.scratch)
        root = pathlib.Path(self.folder.name)
        home = root / "codex"
        home.mkdir()
        (home / "config.toml").write_text(
            f'model = "{options.model}"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
            f'base_url = "http://127.0.0.1:{model_port}/v1"\nwire_api = "responses"\n')
        environment = {"PATH": os.environ["PATH"], "HOME": str(root), "DATA_DIR": str(root / "data"), "PORT": "0", "MCP_PORT": "0",
                       "CODEX_BIN": options.codex, "CODEX_HOME": str(home), "LOG_LEVEL": "warn", "CLAIM_CHECK": "off",
                       **dict(pair.split("=", 1) for pair in options.set)}
        self.process = subprocess.Popen([program, "serve", *options.repository], env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        line = ""
        while "HTTP API" not in line:
            line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1].strip().strip("/"))
        while not self.is_ready():
            time.sleep(0.05)

    def is_ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            connection.request("GET", "/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def ask(self, question, conversation=None, claim_check=None):
        """Returns the milliseconds of a turn, and its conversation."""
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        body = {"question": question, "conversationId": conversation, "claimCheck": claim_check}
        body = {key: value for key, value in body.items() if value is not None}
        connection.request("POST", "/chat", json.dumps(body), {"content-type": "application/json"})
        text = connection.getresponse().read().decode()
        assert "event: final" in text, text
        elapsed = (time.perf_counter() - began) * 1000
        final = json.loads(text.split("event: final\ndata: ")[1].split("\n")[0])
        if claim_check:
            assert '"supported":1' in text, text
        return elapsed, final["conversationId"]

    def round(self):
        """Returns the milliseconds of one turn of each kind."""
        new, conversation = self.ask("?")
        follow_up, _ = self.ask("?", conversation)
        searching, conversation = self.ask("search")
        searching_again, _ = self.ask("search", conversation)
        return [new, follow_up, searching, searching_again, *(self.ask("cite", None, read)[0] for read in (False, True))]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--codex", required=True)
    for name in ["program", "repository"]:
        parser.add_argument(f"--{name}", required=True, action="append")
    parser.add_argument("--set", default=[], action="append", help="NAME=VALUE of a setting")
    parser.add_argument("--scratch", help="where folders are made; not in the system's temporary folder")
    parser.add_argument("--model", default="mock")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--body", help="where the first request is written")
    options = parser.parse_args()
    Model.cited = next(pathlib.Path(options.repository[0]).resolve().glob("README*"))
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    servers = [Server(options, program, model.server_address[1]) for program in options.program]
    for server in servers:
        server.round()
    if options.body:
        pathlib.Path(options.body).write_bytes(Model.first)
    rounds = [[server.round() for server in servers] for _ in range(options.turns)]
    print(f"load {os.getloadavg()[0]:.2f}; p50, ms\n| program | {' | '.join(KINDS)} |\n|---|---|---|---|---|")
    for number, server in enumerate(servers):
        medians = [statistics.median(times[number][kind] for times in rounds) for kind in range(len(KINDS))]
        print(f"| {options.program[number]} | {' | '.join(f'{median:.0f}' for median in medians)} |")
        server.stop()


main()
