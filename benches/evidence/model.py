"""A model service on loopback whose next step a script decides: the Responses API over server-sent events."""

import http.server
import json
import threading


class Model:
    """Answers each request of Codex with what `decide(outputs)` returns: `(namespace, name, arguments)` or a text.

    `outputs` are the texts of all tools in the conversation. All requests are kept.
    """

    def __init__(self, decide):
        self.requests = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply(404, "application/json", b"{}")

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                try:
                    request = json.loads(body)
                except ValueError:
                    self.reply(404, "application/json", b"{}")
                    return
                number = len(model.requests)
                model.requests.append(request)
                self.reply(200, "text/event-stream", stream(number, decide(outputs(request))))

            def reply(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def outputs(request):
    """Returns the texts that tools returned in a conversation."""
    return [text_of(item["output"]) for item in request["input"] if item.get("type") == "function_call_output"]


def text_of(output):
    """Returns what a model reads of a tool's output."""
    if isinstance(output, str):
        return output
    return "\n".join(part.get("text", "") for part in output)


def stream(number, decided):
    """Returns the events of a response with one item."""
    if isinstance(decided, str):
        content = [{"type": "output_text", "text": decided}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    else:
        namespace, name, arguments = decided
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        item["arguments"] = json.dumps(arguments)
        if namespace:
            item["namespace"] = namespace
    response = {"id": f"resp_{number}"}
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 110,
    }
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "usage": usage}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
