"""Asks other tool searches the questions of this folder, over the same definitions.

    python3 benches/discovery/beside.py fastmcp|dehydrator|mcp-orchestrator

Run it with a Python that has that package of PyPI; none of them needs a network. Tools are named
`TOOLKIT_TOOL`, or as the package names them. Prints hit@1, hit@5 and MRR@20 of both halves.
"""

import asyncio
import gzip
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
MOST = 20


def main():
    tools, toolkit = [], None
    for line in gzip.open(HERE / "tools.jsonl.gz", "rt"):
        entry = json.loads(line)
        toolkit = entry["server"]["toolkit"] if "server" in entry else toolkit
        if "tool" in entry:
            tools.append({"toolkit": toolkit, "description": "", **entry["tool"]})
    ids = {f"{tool['toolkit']}_{tool['name']}": f"mcp:{tool['toolkit']}:{tool['name']}" for tool in tools}
    search = {"fastmcp": fastmcp, "dehydrator": dehydrator, "mcp-orchestrator": orchestrator}[sys.argv[1]](tools)
    halves = {}
    for line in (HERE / "questions.jsonl").read_text().splitlines():
        question = json.loads(line)
        found = [ids[name] for name in search(question["question"])]
        place = next((at for at, tool in enumerate(found) if tool in question["tools"]), None)
        halves.setdefault(question["half"], []).append(place)
    for half, places in halves.items():
        first = sum(place == 0 for place in places) / len(places)
        five = sum(place is not None and place < 5 for place in places) / len(places)
        reciprocal = sum(1 / (place + 1) for place in places if place is not None) / len(places)
        print(f"| {sys.argv[1]} | {half} | {first:.3f} | {five:.3f} | {reciprocal:.3f} |")


def fastmcp(tools):
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools.base import Tool

    listed = [
        Tool(name=f"{tool['toolkit']}_{tool['name']}", description=tool["description"], parameters=tool["inputSchema"])
        for tool in tools
    ]
    transform = BM25SearchTransform(max_results=MOST)
    return lambda query: [tool.name for tool in asyncio.run(transform._search(listed, query))]


def dehydrator(tools):
    from dehydrator import ToolIndex

    listed = [{**tool, "name": f"{tool['toolkit']}_{tool['name']}"} for tool in tools]
    return ToolIndex(listed, top_k=MOST).search


def orchestrator(tools):
    from mcp_orchestrator.tools.search import ToolSearchService

    service = ToolSearchService()
    for tool in tools:
        definition = {
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["inputSchema"],
        }
        service.index_tool(tool["toolkit"], definition)

    def search(query):
        return [f"{one.server_name}_{one.tool_name}" for one in service.search(query, limit=MOST)]

    return search


main()
