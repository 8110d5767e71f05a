"""A client of PyPI `mcp` 1: lists and calls once for each line of its input.
Argument: the URL. Writes what it sees as JSON lines."""

import asyncio
import json
import sys

from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

QUESTION = {"question": "Where is the valve?"}


async def seen(work):
    try:
        return await work
    except McpError as fault:
        error = fault.error
        return {"code": error.code, "message": error.message, "hint": (error.data or {}).get("hint")}


async def names(session):
    return [tool.name for tool in (await session.list_tools()).tools]


async def text(session):
    return (await session.call_tool("codebase_question", QUESTION)).content[0].text


async def both(session):
    sight = {"listed": await seen(names(session)), "called": await seen(text(session))}
    print(json.dumps(sight), flush=True)


async def main():
    async with streamable_http_client(sys.argv[1]) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            while await asyncio.to_thread(sys.stdin.readline):
                await both(session)


asyncio.run(main())
