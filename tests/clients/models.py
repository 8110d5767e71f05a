"""A model service for agents: Anthropic's, Google's and OpenAI's (chat) wire, on loopback.

    python3 models.py [BINARY LINK]

Calls `codebase_question` once where a request offers it, and answers with one message else. A result that says that Codex
is away makes it link BINARY at LINK, and call again. The first line on standard output is the port; each further one says
what a request showed the model: {"tools": count, "description": that of the tool or null, "instructions": whether those of
the server are there, "lines", "agent": whether the lines for agents and the name of the sub-agent are, "results": texts}.
"""
import http.server
import json
import os
import re
import sys
import threading

TOOL = re.compile(r"codebase_question$")
AWAY = "CODE_INFO_LLM_UNAVAILABLE"
MAX_CALLS = 4
# How the first line of the server's instructions begins.
INSTRUCTIONS = "Before grep or reading files, ask"
# What the lines have that `codeinfo install` adds to what agents read; some clients leave the marks around them out.
LINES = "Sub-agents do the same"
AGENT = "code-investigator"
DONE = "That is all."


def offered(body):
    """Returns the tools of a request as pairs of name and description."""
    tools = body.get("tools") or []
    flat = []
    for tool in tools:
        flat += tool.get("functionDeclarations") or [tool.get("function") or tool]
    return {tool["name"]: tool.get("description", "") for tool in flat if "name" in tool}


def texts(value):
    """Yields all strings below a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def results(body):
    """Returns the texts of the tool results in a request."""
    found = []
    for message in body.get("messages") or body.get("contents") or []:
        parts = message.get("content", message.get("parts"))
        if message.get("role") == "tool":
            found.append(" ".join(texts(parts)))
        for part in parts if isinstance(parts, list) else []:
            if part.get("type") == "tool_result":
                found.append(" ".join(texts(part.get("content"))))
            if "functionResponse" in part:
                found.append(" ".join(texts(part["functionResponse"].get("response"))))
    return found


def decide(body):
    """Returns the call that a request is answered with, as id, name and arguments, or `None` for a message."""
    tools = offered(body)
    tool = next((name for name in tools if TOOL.search(name)), None)
    told = results(body)
    is_away = told and AWAY in told[-1] and len(told) < MAX_CALLS and len(sys.argv) > 2
    if is_away and not os.path.lexists(sys.argv[2]):
        os.symlink(sys.argv[1], sys.argv[2])
    # Some clients ignore a call that is like the last one.
    question = "Where is the valve?" + " Tell me." * len(told)
    return (f"call_{len(told)}", tool, {"question": question}) if tool and (is_away or not told) else None


def anthropic(call):
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": DONE}
    if call:
        block = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[2])}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": usage}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    events = [{"type": "message_start", "message": message},
              {"type": "content_block_start", "index": 0, "content_block": block},
              {"type": "content_block_delta", "index": 0, "delta": delta},
              {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": stop, "usage": usage},
              {"type": "message_stop"}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def anthropic_whole(call):
    content = {"type": "tool_use", "id": call[0], "name": call[1], "input": call[2]} if call else {"type": "text", "text": DONE}
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [content],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def google(call):
    part = {"functionCall": {"name": call[1], "args": call[2]}} if call else {"text": DONE}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}


def openai(call):
    delta = {"role": "assistant", "content": DONE}
    if call:
        function = {"name": call[1], "arguments": json.dumps(call[2])}
        delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": call[0], "type": "function", "function": function}]}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
    chunks = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
              {**chunk, "choices": [end], "usage": usage}]
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")
        if "count_tokens" in self.path or "countTokens" in self.path:
            return self.reply({"input_tokens": 1, "totalTokens": 1})
        call = decide(body)
        self.record(body)
        if "generateContent" in self.path.replace("streamGenerate", "generate"):
            one = google(call)
            return self.reply(f"data: {json.dumps(one)}\n\n" if "stream" in self.path else one)
        if "/messages" in self.path:
            return self.reply(anthropic(call) if body.get("stream") else anthropic_whole(call))
        if body.get("stream"):
            return self.reply(openai(call))
        message = {"role": "assistant", "content": DONE}
        return self.reply({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                           "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                           "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})

    def do_GET(self):
        self.reply({"data": [], "models": []})

    def record(self, body):
        tools, shown = offered(body), list(texts(body))
        described = [description for name, description in tools.items() if TOOL.search(name)]
        seen = {"tools": len(tools), "description": described[0] if described else None,
                "instructions": any(INSTRUCTIONS in text for text in shown),
                "lines": any(LINES in text for text in shown), "agent": any(AGENT in text for text in shown),
                "results": results(body)}
        with Service.lock:
            print(json.dumps(seen), flush=True)

    def reply(self, body):
        kind = "text/event-stream" if isinstance(body, str) else "application/json"
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
