"""A server of MCP over Streamable HTTP, made with the official library. Prints its port."""
import asyncio, os, socket, sys

import uvicorn
from mcp.server.fastmcp import FastMCP

server = FastMCP("greeter")


@server.tool(annotations={"readOnlyHint": True})
def greet(name: str) -> str:
    return f"hello {name}"


@server.tool()
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
def huge(size: int) -> str:
    return "x" * size


@server.tool()
def key() -> str:
    return str(server.get_context().request_context.request.headers.get("x-key"))


@server.tool()
def die() -> str:
    os._exit(7)


listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(server.streamable_http_app(), log_level="error")
asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
