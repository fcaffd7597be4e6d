"""A client with the Python SDK, version 2: runs commands from lines of JSON on stdin, and answers on stdout.

    python client.py MODE '{"command": ..., "args": ..., "env": ...}' [ROOTS]
    python client.py MODE '{"url": ...}' [ROOTS]
    python client.py MODE '{"sse": ...}' [ROOTS]
"""

import asyncio
import json
import sys

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client


def server(target):
    if "url" in target:
        return target["url"]
    if "sse" in target:
        return sse_client(target["sse"])
    return StdioServerParameters(**target)


async def do(client, order):
    match order["op"]:
        case "server":
            return {"version": client.protocol_version, "info": client.server_info}
        case "tools":
            return await client.list_tools()
        case "call":
            return await client.call_tool(order["name"], order["args"])
        case "read":
            return await client.read_resource(order["uri"])
        case other:
            raise ValueError(f"{other} is nothing to do")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def say(message):
    print(json.dumps(message), flush=True)


async def main():
    mode, target = sys.argv[1], json.loads(sys.argv[2])
    roots = [types.Root(**root) for root in json.loads(sys.argv[3])] if len(sys.argv) > 3 else None

    async def list_roots(_context):
        return types.ListRootsResult(roots=roots)

    callback = list_roots if roots is not None else None
    async with Client(server(target), mode=mode, list_roots_callback=callback) as client:
        say({"ready": True})
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                say({"result": plain(await do(client, json.loads(line)))})
            except MCPError as error:
                say({"error": {"code": error.error.code, "message": error.error.message}})


asyncio.run(main())
