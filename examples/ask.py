#!/usr/bin/env python3
"""Searches, then asks, each further question in the same conversation: ask.py QUESTION [FOLLOW-UP…]

Needs Python 3.9 and a running `codeinfo serve`. Both use the HTTP API; the answer is read from a stream as it is written.
An answer takes one to three minutes. CODEINFO_API and CODEINFO_TOKEN say where the server is and who asks.
"""

import json
import os
import sys
import urllib.error
import urllib.request

API = os.environ.get("CODEINFO_API", "http://127.0.0.1:5010")
TOKEN = os.environ.get("CODEINFO_TOKEN")


def post(path, body):
    """Posts JSON and returns the open response; a reply with an error ends the program."""
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(API + path, json.dumps(body).encode(), headers)
    try:
        return urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        reply = json.load(error)
        parts = [reply["error"], reply["message"], *reply.get("details", [])]
        sys.exit("error: " + ": ".join(parts))
    except urllib.error.URLError as error:
        sys.exit(f"error: {API}: {error.reason}")


def read_frames(stream):
    """Yields the name and the data of each server-sent event; lines that begin with a colon keep the connection alive."""
    name = None
    for line in stream:
        line = line.decode().rstrip("\r\n")
        if line.startswith("event: "):
            name = line[len("event: ") :]
        elif line.startswith("data: "):
            yield name, json.loads(line[len("data: ") :])


def ask(question, conversation):
    """Prints the answers of one turn and returns the id of its conversation."""
    body = {"question": question}
    if conversation:
        body["conversationId"] = conversation
    with post("/chat", body) as stream:
        for name, data in read_frames(stream):
            if name == "answer":
                print(f"answer: {data['text']}", flush=True)
            elif name == "final":
                return data["conversationId"]
            elif name == "error":
                sys.exit(f"error: {data['code']}: {data['message']}")
    sys.exit("error: the stream ended before its last frame")


def main(questions):
    if not questions:
        print(f"usage: {sys.argv[0]} QUESTION [FOLLOW-UP…]", file=sys.stderr)
        sys.exit(2)
    with post("/tools/vector-search", {"query": questions[0], "limit": 3}) as response:
        for result in json.load(response)["results"]:
            print(f"found: {result['relPath']}:{result['startLine']}-{result['endLine']}", flush=True)
    conversation = None
    for question in questions:
        conversation = ask(question, conversation)
    print(f"conversation: {conversation}")


main(sys.argv[1:])
