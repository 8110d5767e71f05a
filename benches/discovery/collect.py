"""Collects the tool definitions of published MCP servers into tools.jsonl.gz.

    python3 benches/discovery/collect.py SCRATCH [TOOLKIT...]

Each server of servers.json is installed into SCRATCH by `npm` or `uv`, started over stdio without a network
account (what looks like a key is the word `none`), and asked for `tools/list`. Servers that do not answer, or
whose package has another licence than MIT, Apache or BSD, are named and left out. What was collected before
is read from SCRATCH, so that a stopped run goes on.
"""

import gzip
import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LICENCES = re.compile(r"^(MIT|Apache|BSD|MIT OR Apache-2.0)", re.IGNORECASE)
# What discovery ranks and shows; output schemas and icons are left out.
MEMBERS = ("name", "title", "description", "inputSchema", "annotations")


def main():
    scratch = Path(sys.argv[1]).resolve()
    wanted = set(sys.argv[2:])
    servers = json.loads((HERE / "servers.json").read_text())
    lines = []
    for server in servers:
        kept = scratch / f"{server['toolkit']}.json"
        if not kept.exists() and (not wanted or server["toolkit"] in wanted):
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(collected(server, scratch / server["toolkit"])))
        if not kept.exists():
            continue
        found = json.loads(kept.read_text())
        print(f"{server['toolkit']}: {found.get('failed') or len(found['tools'])} {found.get('licence', '')}")
        if "failed" in found:
            continue
        source = {key: found[key] for key in ("toolkit", "package", "version", "licence")}
        lines.append(json.dumps({"server": source}, ensure_ascii=False))
        lines += [json.dumps({"tool": tool}, ensure_ascii=False) for tool in found["tools"]]
    text = "\n".join(lines) + "\n"
    (HERE / "tools.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    tools = sum(line.startswith('{"tool"') for line in lines)
    print(f"{tools} tools of {len(lines) - tools} servers")


def collected(server, folder):
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    try:
        command, version, licence = (npm if "npm" in server else pypi)(server, folder)
        if not LICENCES.match(licence):
            return {"failed": f"licence {licence!r}"}
        args = [arg.replace("{home}", str(home)) for arg in server.get("args", [])]
        env = {key: value.replace("{home}", str(home)) for key, value in server.get("env", {}).items()}
        tools = listed([*command, *args], {"PATH": os.environ["PATH"], "HOME": str(home), **env}, home)
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as failure:
        return {"failed": f"{type(failure).__name__}: {failure}"[:400]}
    package = server.get("npm") or server["pypi"]
    registry = "npm" if "npm" in server else "PyPI"
    return {
        "toolkit": server["toolkit"],
        "package": f"{registry}: {package}",
        "version": version,
        "licence": licence,
        "tools": [{key: tool[key] for key in MEMBERS if key in tool} for tool in tools],
    }


def npm(server, folder):
    package = server["npm"]
    run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder), f"{package}@{server['version']}"])
    module = folder / "node_modules" / package
    about = json.loads((module / "package.json").read_text())
    programs = about["bin"]
    program = programs if isinstance(programs, str) else next(iter(programs.values()))
    named = about.get("license") or ""
    licence = named if LICENCES.match(named) else licence_file(module) or named
    return ["node", str(module / program)], about["version"], licence


def pypi(server, folder):
    package = server["pypi"]
    if not (folder / "venv").exists():
        run(["uv", "venv", "-q", "--python", sys.executable, str(folder / "venv")])
    python = folder / "venv" / "bin" / "python"
    run(["uv", "pip", "install", "-q", "--python", str(python), f"{package}=={server['version']}"])
    ask = (
        "import importlib.metadata as m, json, sys; d = m.distribution(sys.argv[1]); i = d.metadata;"
        "print(json.dumps([d.version, i.get('License-Expression'), i.get_all('Classifier') or [], i.get('License'),"
        "[e.name for e in d.entry_points if e.group == 'console_scripts'],"
        "[str(f.locate()) for f in d.files or [] if 'LICEN' in f.name.upper()]]))"
    )
    said = subprocess.run([python, "-c", ask, package], check=True, capture_output=True, text=True, timeout=60).stdout
    version, expression, classifiers, text, programs, files = json.loads(said)
    classified = [c.split(" :: ")[-1] for c in classifiers if c.startswith("License :: OSI Approved :: ")]
    read = [known_licence(Path(file).read_text(errors="replace")) for file in files]
    licence = next((name for name in [expression, *classified, first_line(text), *read] if name), "")
    name = server.get("command") or (package if package in programs else programs[0])
    return [str(folder / "venv" / "bin" / name)], version, licence


def first_line(text):
    return known_licence(text) if text and "\n" in text else (text or "")


def licence_file(module):
    files = [file for file in module.iterdir() if file.name.upper().startswith("LICEN")]
    return known_licence(files[0].read_text()) if files else ""


def known_licence(text):
    for mark, name in [("Apache License", "Apache-2.0"), ("Permission is hereby granted, free of charge", "MIT")]:
        if mark in text:
            return name
    return text.strip().split("\n")[0][:60]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    if done.returncode:
        raise ValueError(f"{command[0]}: {done.stderr.strip()[-300:]}")


def listed(command, env, folder):
    """Asks a server for all pages of `tools/list`."""
    process = subprocess.Popen(
        command, env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        client = {"name": "collect", "version": "1"}
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        call(process, 1, "initialize", asked)
        send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools, cursor, number = [], None, 2
        while number == 2 or cursor:
            page = call(process, number, "tools/list", {"cursor": cursor} if cursor else {})
            tools, cursor, number = tools + page["tools"], page.get("nextCursor"), number + 1
        return tools
    finally:
        process.kill()
        process.wait()


def send(process, message):
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def call(process, number, method, params):
    send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    buffer, end = b"", time.monotonic() + 90
    while time.monotonic() < end:
        if not select.select([process.stdout], [], [], 1)[0]:
            continue
        more = os.read(process.stdout.fileno(), 1 << 16)
        if not more:
            raise ValueError(f"ended during {method}")
        buffer += more
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # Some servers greet people on their standard output.
            if message.get("id") == number and "method" not in message:
                if "result" not in message:
                    raise ValueError(f"{method}: {message.get('error')}")
                return message["result"]
    raise ValueError(f"{method} was not answered")


main()
