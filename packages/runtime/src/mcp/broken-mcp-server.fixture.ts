// An MCP server that violates the protocol, in its own process: `node broken-mcp-server.fixture.ts <mode>`. Written without the
// SDK, which would prevent that.

import { createInterface } from 'node:readline'

const [, , mode] = process.argv
const send = (message: unknown): void => void process.stdout.write(`${JSON.stringify(message)}\n`)
const answer = (id: unknown, result: unknown) => send({ jsonrpc: '2.0', id, result })
const textResult = (text: string) => ({ content: [{ type: 'text', text }] })
const anything = { type: 'object' }

/** A pattern with catastrophic backtracking. */
const EVIL = { type: 'string', pattern: '^(a+)+$' }

const TOOLS = [
  { name: 'bare' },
  { name: 'twice', inputSchema: anything },
  { name: 'twice', inputSchema: anything, description: 'another' },
  { name: '__proto__', inputSchema: anything },
  { name: 'constructor', inputSchema: anything },
  { name: 'read file', inputSchema: anything },
  { name: 'read.file', inputSchema: anything },
  { name: 'über', inputSchema: anything },
  { inputSchema: anything },
  null,
  { name: 'unresolved', inputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } } },
  { name: 'mistyped', inputSchema: { type: 'objekt' } },
  { name: 'listed', inputSchema: { type: 'array' } },
  { name: 'later', inputSchema: { $async: true, type: 'object', required: ['x'] } },
  { name: 'vast', inputSchema: { type: 'object', description: 'x'.repeat(200_000) } },
  { name: 'same', inputSchema: { $id: 'https://example.com/same', type: 'object', required: ['a'] } },
  { name: 'other', inputSchema: { $id: 'https://example.com/same', type: 'object', required: ['b'] } },
  { name: 'liar', inputSchema: anything, outputSchema: { type: 'object', properties: { n: { type: 'number' } } } },
  { name: 'silent', inputSchema: anything },
  { name: 'refuse', inputSchema: anything },
  { name: 'odd', inputSchema: anything },
  { name: 'chatty', inputSchema: anything },
  { name: 'huge', inputSchema: anything },
  { name: 'die', inputSchema: anything },
  { name: 'pid', inputSchema: anything },
  { name: 'hasty', inputSchema: anything },
  { name: 'evil', inputSchema: { properties: { x: EVIL } }, outputSchema: { properties: { x: EVIL } } },
]

function list(id: unknown, cursor: string | undefined): void {
  const from = Number(cursor ?? 0)
  const next = from + 5
  if (mode === 'unlisted') return
  if (mode === 'endless') answer(id, { tools: [], nextCursor: `${next}` })
  else if (mode === 'listless') answer(id, { tools: 'none' })
  else answer(id, { tools: TOOLS.slice(from, next), ...(next < TOOLS.length && { nextCursor: `${next}` }) })
}

type Call = (id: unknown, progressToken: unknown) => void

const CALLS: ReadonlyMap<string, Call> = new Map<string, Call>([
  [
    'twice',
    id => {
      answer(id, textResult('first'))
      answer(id, textResult('second'))
    },
  ],
  ['liar', id => answer(id, { content: [], structuredContent: { n: 'many' } })],
  ['silent', () => {}],
  ['refuse', id => send({ jsonrpc: '2.0', id, error: { code: -32000, message: `no ${'!'.repeat(5000)}` } })],
  ['odd', id => answer(id, { content: 'odd' })],
  [
    'chatty',
    id => {
      process.stdout.write('this is not JSON\n{"neither": "is this"}\n')
      send({ jsonrpc: '2.0', method: 'notifications/unheard', params: {} })
      answer(4711, {})
      answer(id, textResult('chatted'))
    },
  ],
  [
    'hasty',
    (id, progressToken) => {
      const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } }
      const result = { jsonrpc: '2.0', id, result: textResult('done') }
      process.stdout.write(`${JSON.stringify(progress)}\n${JSON.stringify(result)}\n`)
    },
  ],
  ['evil', id => answer(id, { content: [], structuredContent: { x: `${'a'.repeat(60)}!` } })],
  ['huge', id => answer(id, textResult('x'.repeat(11 * 1024 * 1024)))],
  ['die', () => process.exit(1)],
  ['pid', id => answer(id, textResult(`${process.pid}`))],
])

function call(id: unknown, params: { name: string; arguments: unknown; _meta: { progressToken: unknown } }): void {
  const toolCall = CALLS.get(params.name)
  if (toolCall === undefined) answer(id, textResult(`${params.name} ${JSON.stringify(params.arguments)}`))
  else toolCall(id, params._meta.progressToken)
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (mode === 'mute') return
  if (method === 'initialize') {
    const { protocolVersion } = params
    answer(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1' } })
  }
  if (method === 'tools/list') list(id, params?.cursor)
  if (method === 'tools/call') call(id, params)
})

if (mode === 'stubborn' || mode === 'mute' || mode === 'unlisted') {
  // Ignores the request to exit.
  process.on('SIGTERM', () => {})
  setInterval(() => {}, 1000)
}
