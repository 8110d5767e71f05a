"""The product: a server over a prepared store, and its MCP endpoint."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """`codeinfo serve` over a store, until the block ends; without Codex, but for settings."""

    def __init__(self, program, store, settings=()):
        self.program, self.store = os.path.abspath(program), os.path.abspath(store)
        self.settings = settings or {"CODEX_BIN": os.path.join(self.store, "no-codex")}

    def __enter__(self):
        port, mcp = free_port(), free_port()
        environment = dict(os.environ, DATA_DIR=self.store, PORT=str(port), MCP_PORT=str(mcp), **self.settings)
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([self.program, "serve"], env=environment, stdout=self.log, stderr=self.log)
        self.url, self.mcp = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{mcp}"
        for _ in range(600):
            if self.process.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5).read()
                return self
            except urllib.error.HTTPError:
                return self
            except OSError:
                time.sleep(0.1)
        self.log.seek(0)
        raise SystemExit(f"the server does not start: {self.log.read().decode(errors='replace')}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Endpoint:
    """`POST /mcp`: the tools, and the text of a call exactly as a model gets it."""

    def __init__(self, url):
        self.url = f"{url}/mcp"
        self.tools = {tool["name"]: tool for tool in self.send("tools/list", {})["tools"]}

    def call(self, name, arguments):
        """Calls a tool with those arguments that it knows."""
        known = self.tools[name]["inputSchema"]["properties"]
        arguments = {key: value for key, value in arguments.items() if key in known}
        result = self.send("tools/call", {"name": name, "arguments": arguments})
        return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")

    def send(self, method, parameters):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            answer = json.load(reply)
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]
