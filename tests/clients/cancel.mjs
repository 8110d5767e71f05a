// A client of npm `@modelcontextprotocol/sdk` that asks, and gives the question up when it reads a line.
// Arguments: the folder with `node_modules`, the URL. Lives on, with its connections, until its input ends.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [, , folder, url] = process.argv;
const require = createRequire(`${folder}/`);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');

const client = new Client({ name: 'cancel', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const given = new AbortController();
const call = { name: 'codebase_question', arguments: { question: 'Where is the valve?' } };
const options = { signal: given.signal, onprogress: () => {} };
const answered = client.callTool(call, undefined, options).then(
  () => 'answered',
  () => 'given up',
);
for await (const _ of createInterface({ input: process.stdin })) {
  given.abort();
  console.log(JSON.stringify(await answered));
}
await client.close();
