// A process that serves one store twice: to two users, and without `authorize`. The same program is bundled with the
// code of an earlier release (old-server.mjs.gz), so it uses only what both releases have.

import { openStore } from '@millrace/log'
import { agent, scriptedModel, tool, useInterrupt, workflow } from '@millrace/runtime'
import * as z from 'zod'
import { reportEvent } from '../../../../../scripts/faults/process.ts'
import { millrace } from '../../app/app.ts'

const [url = '', kind = ''] = process.argv.slice(2)

const inner = scriptedModel(({ lastText }) => ({ text: `one two ${lastText}` }))

/** Writes one word and then waits forever, in the process that will be killed. */
const holding: typeof inner = {
  ...inner,
  async doStream(call) {
    const { stream } = await inner.doStream(call)
    let isFirst = true
    const held = stream.pipeThrough(
      new TransformStream({
        async transform(part, controller) {
          if (part.type === 'text-delta' && !isFirst) await new Promise(() => {})
          if (part.type === 'text-delta') isFirst = false
          controller.enqueue(part)
        },
      }),
    )
    return { stream: held }
  },
}

const agents = [
  agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })) }),
  agent({ name: 'slow', model: kind === 'old' ? holding : inner }),
  agent({
    name: 'operator',
    model: scriptedModel([{ calls: [{ name: 'send', input: { to: 'ann' }, id: 'call-send' }] }, { text: 'Sent.' }]),
    tools: [
      tool({
        name: 'send',
        inputSchema: z.object({ to: z.string() }),
        approval: true,
        execute: ({ to }) => ({ sent: to }),
      }),
    ],
  }),
  agent({
    name: 'large',
    model: scriptedModel([{ calls: [{ name: 'dump', input: {} }] }, { text: 'There it is.' }]),
    tools: [tool({ name: 'dump', inputSchema: z.object({}), execute: () => 'x'.repeat(100_000) })],
  }),
]

const question = workflow({
  id: 'question',
  nodes: {
    ask: async () => ({ data: await useInterrupt({ request: { kind: 'text', question: 'Who is there?' } }) }),
  },
  edges: [
    ['start', 'ask'],
    ['ask', 'end'],
  ],
})

/** The message of an error and of its cause. */
const textOf = (error: unknown): string =>
  error instanceof Error ? `${error.message}${error.cause ? `: ${textOf(error.cause)}` : ''}` : String(error)

const failures: string[] = []
const log = (message: string, { cause }: { readonly cause?: unknown }) =>
  void failures.push(`${message}: ${textOf(cause)}`)
const store = await openStore(url)
const options = {
  agents,
  workflows: [question],
  store,
  engine: { pollMs: 100 },
  // The default of 30 s would only make the test slower.
  log: { leaseMs: 3_000 },
  logger: { warn: log, error: log },
}
const owned = millrace({ ...options, authorize: ({ request }) => request.headers.get('x-user') })
const open = millrace(options)
const { port } = await owned.listen({ port: 0 })
const { port: openPort } = await open.listen({ port: 0 })
// The first call opens the store.
const health = await fetch(`http://127.0.0.1:${openPort}/api/health`)
await reportEvent('started', {
  port,
  openPort,
  ...(!health.ok && { failure: [await health.text(), ...failures].join('\n') }),
})
