// A client of npm `@modelcontextprotocol/sdk`: lists and calls once for each line of its
// input. Arguments: the folder with `node_modules`, the URL. Writes what it sees as JSON lines.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [, , folder, url] = process.argv;
const require = createRequire(`${folder}/`);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');

async function seen(work) {
  try {
    return await work();
  } catch ({ code, message, data }) {
    return { code, message, hint: data?.hint };
  }
}

const client = new Client({ name: 'sdk', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

async function both() {
  const listed = await seen(async () => (await client.listTools()).tools.map((tool) => tool.name));
  const call = { name: 'codebase_question', arguments: { question: 'Where is the valve?' } };
  const called = await seen(async () => (await client.callTool(call)).content[0].text);
  console.log(JSON.stringify({ listed, called }));
}

for await (const _ of createInterface({ input: process.stdin })) await both();
await client.close();
