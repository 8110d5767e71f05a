"""A client of PyPI `mcp` 2: lists and calls once for each line of its input.
Arguments: the URL, and `auto` or `legacy`. Writes what it sees as JSON lines."""

import asyncio
import json
import sys

from mcp import Client, MCPError

QUESTION = {"question": "Where is the valve?"}


async def seen(work):
    try:
        return await work
    except MCPError as fault:
        return {"code": fault.code, "message": fault.message, "hint": (fault.data or {}).get("hint")}


async def names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


async def text(client):
    return (await client.call_tool("codebase_question", QUESTION)).content[0].text


async def both(client):
    sight = {"listed": await seen(names(client)), "called": await seen(text(client))}
    print(json.dumps(sight), flush=True)


async def main():
    url, mode = sys.argv[1:]
    async with Client(url, mode=mode) as client:
        assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
        while await asyncio.to_thread(sys.stdin.readline):
            await both(client)


asyncio.run(main())
