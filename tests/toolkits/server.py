"""A server of MCP over standard streams that does what tests need, and misbehaves as it is asked to.

The arguments are words that say how: see `starts` and the functions of `Tools`.
"""
import json, os, signal, socket, sys, threading, time

WORDS = sys.argv[1:]
LOCK = threading.Lock()
ANSWERS = {}
CANCELLED = []


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method, params):
    ANSWERS["q" + method] = None
    send({"id": "q" + method, "method": method, "params": params})
    while ANSWERS["q" + method] is None:
        time.sleep(0.01)
    return ANSWERS["q" + method]


class Tools:
    def echo(self, **arguments):
        return json.dumps(arguments)

    def pid(self):
        return str(os.getpid())

    def count(self):
        Tools.counted = getattr(Tools, "counted", 0) + 1
        return str(Tools.counted)

    def env(self):
        return json.dumps(dict(os.environ))

    def sleep(self, seconds):
        # Where the working folder is its own, tests see that it began.
        try:
            open("sleeping", "w").close()
        except OSError:
            pass
        time.sleep(seconds)
        return "slept"

    def wait(self, began, end):
        open(began, "w").close()
        while not os.path.exists(end):
            time.sleep(0.01)
        return "waited"

    def huge(self, bytes):
        return "x" * bytes

    def die(self):
        os._exit(7)

    def die_once(self, marker):
        if not os.path.exists(marker):
            open(marker, "w").close()
            os._exit(7)
        return "alive"

    def grow(self, mib):
        self.kept = bytearray(os.urandom(1024 * 1024) * mib)
        return "grown"

    def fill(self, path, mib):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.put(open(path, "wb", buffering=0), mib)
        return "filled"

    def remove(self, path):
        os.remove(path)
        return "removed"

    def fill_unseen(self, mib):
        Tools.unseen = open(os.memfd_create("unseen"), "wb", buffering=0)
        self.put(Tools.unseen, mib)
        return "filled"

    def put(self, file, mib):
        for _ in range(mib):
            file.write(bytes(1024 * 1024))

    def fork(self, processes):
        for _ in range(processes):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        return "forked"

    def thread(self, threads):
        for _ in range(threads):
            threading.Thread(target=time.sleep, args=[60], daemon=True).start()
        return "started"

    def change(self):
        setattr(Tools, "added", lambda self: "added")
        send({"method": "notifications/tools/list_changed"})
        return "changed"

    def cancelled(self):
        return json.dumps(CANCELLED)

    def asks(self):
        sampling = ask("sampling/createMessage", {"messages": [], "maxTokens": 1})
        roots = ask("roots/list", {})
        asked = ask("elicitation/create", {"message": "key?", "requestedSchema": {"type": "object", "properties": {}}})
        return json.dumps([sampling, roots, asked])

    def read(self, path):
        return open(path).read()

    def write(self, path):
        open(path, "w").write("written")
        return "written"

    def connect(self, port):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return "connected"


READS = ["echo", "pid", "count", "env", "die_once", "read"]


def listed(params):
    names = [name for name in dir(Tools) if callable(getattr(Tools, name)) and not name.startswith("_")]
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    for tool in tools:
        if tool["name"] in READS:
            tool["annotations"] = {"readOnlyHint": True, "title": "Reads"}
            if "repeatable" in WORDS:
                tool["annotations"]["idempotentHint"] = True
    if "describes" in WORDS:
        file = WORDS[WORDS.index("describes") + 1]
        for tool in tools:
            if tool["name"] == "echo":
                tool["description"] = open(file).read()
    if "large" in WORDS:
        large = {"type": "object", "description": "x" * 70_000}
        tools = [
            {"name": "fits", "description": "d" * 50_000, "inputSchema": {"type": "object"}},
            {"name": "n" * 200, "inputSchema": {"type": "object"}},
            {"name": "wide", "inputSchema": large},
            {"name": "fits", "inputSchema": {"type": "object"}},
        ]
    if "many" in WORDS:
        page = int((params or {}).get("cursor") or 0)
        tools = [{"name": f"t{page * 100 + i}", "inputSchema": {"type": "object"}} for i in range(100)]
        return {"tools": tools, **({"nextCursor": str(page + 1)} if page < 5 else {})}
    return {"tools": tools}


def call(message):
    name, arguments = message["params"]["name"], message["params"].get("arguments") or {}
    try:
        result = {"content": [{"type": "text", "text": getattr(Tools(), name)(**arguments)}]}
        if name == "echo":
            result["_meta"] = {"ttlMs": 5000}
    except Exception as fault:
        result = {"content": [{"type": "text", "text": f"{type(fault).__name__}: {fault}"}], "isError": True}
    send({"result": result, "id": message["id"]})


def starts():
    if "exit" in WORDS:
        sys.exit(f"no, {os.environ.get('KEY')} is wrong")
    if "forks" in WORDS:
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            open(WORDS[-1], "w").write(str(os.getpid()))
            while True:
                time.sleep(1)
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "noise" in WORDS:
        while True:
            print("this is no message")
    if "errs" in WORDS:
        threading.Thread(target=lambda: [sys.stderr.write("e" * 1000 + "\n") for _ in iter(int, 1)], daemon=True).start()


starts()
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "garbage" in WORDS:
        with LOCK:
            print("Starting…\n{not json\n[1]\n\"text\"", flush=True)
    if "silent" in WORDS:
        continue
    if method is None:
        ANSWERS[message["id"]] = message
    elif method == "notifications/cancelled":
        CANCELLED.append(message["params"]["requestId"])
    elif method == "initialize":
        info = {"name": "scripted", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        version = message["params"]["protocolVersion"]
        send({"id": message["id"], "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}})
    elif method == "tools/list":
        send({"id": message["id"], "result": listed(message.get("params"))})
    elif method == "tools/call":
        threading.Thread(target=call, args=[message], daemon=True).start()
    elif method == "ping" and "mute" not in WORDS:
        send({"id": message["id"], "result": {}})
if "stubborn" in WORDS:
    while True:
        time.sleep(1)
