// Searches, then asks, each further question in the same conversation: node ask.ts QUESTION [FOLLOW-UP…]
//
// Needs Node 20 or later and a running `codeinfo serve`, no packages and no compiler: types are inferred from defaults, so
// that this file is TypeScript, also with `--strict`, and JavaScript. Searching uses the HTTP API, asking the MCP server. An
// answer takes one to three minutes. CODEINFO_API, CODEINFO_MCP and CODEINFO_TOKEN say where the server is and who asks.

const { CODEINFO_API, CODEINFO_MCP, CODEINFO_TOKEN } = process.env;
const api = CODEINFO_API ?? "http://127.0.0.1:5010";
const mcp = CODEINFO_MCP ?? "http://127.0.0.1:5011/mcp";

/** Posts JSON to a URL and returns the reply, which is JSON for every status. */
async function post(url = "", body = {}) {
  const headers = new Headers({ "content-type": "application/json", accept: "application/json" });
  if (CODEINFO_TOKEN) headers.set("authorization", `Bearer ${CODEINFO_TOKEN}`);
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

/** Prints what the search finds. */
async function search(query = "") {
  const reply = await post(`${api}/tools/vector-search`, { query, limit: 3 });
  if (reply.error) throw new Error(`${reply.error}: ${reply.message}`);
  for (const { relPath, startLine, endLine } of reply.results) {
    console.log(`found: ${relPath}:${startLine}-${endLine}`);
  }
}

/** Prints the answers of one turn and returns the id of its conversation. */
async function ask(question = "", conversationId = "") {
  const params = { name: "codebase_question", arguments: conversationId ? { question, conversationId } : { question } };
  const reply = await post(mcp, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
  if (reply.error) {
    // Codex cannot be used, or the arguments are wrong.
    const { reason, hint, faults = [] } = reply.error.data ?? {};
    const message = [reply.error.message, reason, hint].filter(Boolean).join(": ");
    throw new Error([message, ...faults].join("\n  "));
  }
  // The only content item is text, which is JSON.
  const result = JSON.parse(reply.result.content[0].text);
  // The question was not accepted, or its turn failed.
  if (result.error) throw new Error(`${result.error.code}: ${result.error.message}`);
  for (const { type, text } of result.segments) {
    if (type === "answer") console.log(`answer: ${text}`);
  }
  return `${result.conversationId}`;
}

async function main() {
  const questions = process.argv.slice(2);
  if (questions.length === 0) {
    console.error("usage: node ask.ts QUESTION [FOLLOW-UP…]");
    process.exitCode = 2;
    return;
  }
  await search(questions[0]);
  let conversation = "";
  for (const question of questions) conversation = await ask(question, conversation);
  console.log(`conversation: ${conversation}`);
}

main().catch((error) => {
  // A server that cannot be reached is named by the cause.
  console.error(`error: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
});
