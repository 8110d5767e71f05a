#!/bin/sh
# Searches, then asks, each further question in the same conversation: ask.sh QUESTION [FOLLOW-UP…]
#
# Needs curl, jq and a running `codeinfo serve`. Searching uses the HTTP API, asking the MCP server. An answer takes one to
# three minutes. CODEINFO_API, CODEINFO_MCP and CODEINFO_TOKEN say where the server is and who asks.
set -eu
api=${CODEINFO_API:-http://127.0.0.1:5010}
mcp=${CODEINFO_MCP:-http://127.0.0.1:5011/mcp}
[ $# -gt 0 ] || {
	echo "usage: $0 QUESTION [FOLLOW-UP…]" >&2
	exit 2
}

# Posts JSON to a URL and prints the reply, which is JSON for every status.
post() {
	curl --silent --show-error --header 'content-type: application/json' --header 'accept: application/json' \
		${CODEINFO_TOKEN:+--header "authorization: Bearer $CODEINFO_TOKEN"} --data "$2" "$1"
}

# Prints a message and ends the script.
fail() {
	echo "error: $1" >&2
	exit 1
}

body=$(jq -n --arg query "$1" '{query: $query, limit: 3}')
reply=$(post "$api/tools/vector-search" "$body")
error=$(printf '%s' "$reply" | jq -r 'if .error then "\(.error): \(.message)" else empty end')
[ -z "$error" ] || fail "$error"
printf '%s' "$reply" | jq -r '.results[] | "found: \(.relPath):\(.startLine)-\(.endLine)"'

conversation=
for question; do
	body=$(jq -n --arg question "$question" --arg id "$conversation" '{jsonrpc: "2.0", id: 1, method: "tools/call",
		params: {name: "codebase_question", arguments: ({question: $question} + if $id == "" then {} else {conversationId: $id} end)}}')
	reply=$(post "$mcp" "$body")
	# Codex cannot be used, or the arguments are wrong.
	error=$(printf '%s' "$reply" | jq -r '.error // empty |
		([.message, .data.reason, .data.hint] | map(values) | join(": ")) + ((.data.faults? // []) | map("\n  \(.)") | add // "")')
	[ -z "$error" ] || fail "$error"
	# The only content item is text, which is JSON.
	result=$(printf '%s' "$reply" | jq -r '.result.content[0].text')
	# The question was not accepted, or its turn failed.
	error=$(printf '%s' "$result" | jq -r '.error // empty | "\(.code): \(.message)"')
	[ -z "$error" ] || fail "$error"
	printf '%s' "$result" | jq -r '.segments[] | select(.type == "answer") | "answer: \(.text)"'
	conversation=$(printf '%s' "$result" | jq -r '.conversationId')
done
echo "conversation: $conversation"
