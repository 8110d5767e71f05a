// A client of npm `@modelcontextprotocol/sdk` that lists when it connects, and again each time it hears
// that the tools have changed. Arguments: the folder with `node_modules`, the URL. Writes the instructions
// and each list as JSON lines, until its input ends.
import { createRequire } from 'node:module';

const [, , folder, url] = process.argv;
const require = createRequire(`${folder}/`);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ToolListChangedNotificationSchema } = require('@modelcontextprotocol/sdk/types.js');

const client = new Client({ name: 'changes', version: '1' });

async function list() {
  try {
    const { tools } = await client.listTools();
    console.log(JSON.stringify(tools.map((tool) => tool.name)));
  } catch ({ code }) {
    console.log(JSON.stringify(code));
  }
}

client.setNotificationHandler(ToolListChangedNotificationSchema, list);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
console.log(JSON.stringify(client.getInstructions()));
await list();
process.stdin.resume();
process.stdin.on('end', () => client.close());
