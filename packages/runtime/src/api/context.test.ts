import { Memory, memoryStore } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { agent } from '../define/agent.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import type { Runtime } from './runtime.ts'
import { codeOf, gate, patient, testRuntime, until } from './test-runtime.fixture.ts'

const SECRET = 'tenant-47'

/** An agent that records the context of its runs. */
function watched() {
  const seen: (readonly [string, Json | undefined, Json | undefined])[] = []
  const testAgent = agent({
    name: 'watched',
    model: scriptedModel(({ lastText }) => ({ text: `you said ${lastText}` })),
    instructions: ({ runId, context, data }) => {
      seen.push([runId, context, data])
      return 'Be brief.'
    },
  })
  return { testAgent, seen }
}

/** Everything that a client can read of a session. */
async function shownOf(runtime: Runtime, sessionId: string, runIds: readonly string[]): Promise<string> {
  const shown: unknown[] = [await runtime.view(sessionId), await runtime.status(sessionId)]
  for (const runId of runIds) {
    const run = runtime.run(sessionId, runId)
    shown.push(await run.result())
    for await (const entry of run.stream()) shown.push(entry)
    for await (const entry of run.stream({ after: 0 })) shown.push(entry)
  }
  const reader = await runtime.manager.createResumableReader(sessionId, { includeDiscarded: true })
  for await (const entry of reader) shown.push(entry)
  return JSON.stringify(shown)
}

test('law 10: keeps the context for retry, edit and resume, and no reader sees it', async () => {
  for (const context of [{ tenant: SECRET }, { tenant: SECRET, large: 'x'.repeat(100_000) }]) {
    const { testAgent, seen } = watched()
    const runtime = testRuntime({ agents: [testAgent] })
    const request = {
      agent: testAgent,
      input: 'a',
      session: 's',
      runId: 'r1',
      messageId: 'm1',
      context,
      data: { tab: 1 },
    }
    await (await runtime.start(request)).result()
    await (await runtime.retry('s', 'r1', { runId: 'r2' })).result()
    await (await runtime.edit('s', 'm1', 'b', { runId: 'r3', data: { tab: 2 } })).result()
    const options = { mode: 'from-checkpoint', checkpointId: 'r3/main/1', runId: 'r4' } as const
    await (await runtime.resume('s', 'r3', options)).result()
    // The context stays when the request is trimmed.
    const { view } = await runtime.view('s')
    const { at = 0 } = view.runs.at(-1) ?? {}
    await runtime.manager.trimStream('s', { maxEntries: view.head - at + 1 })
    expect((await runtime.manager.getInfo('s'))?.floor).toBe(at - 1)
    await (await runtime.retry('s', 'r4', { runId: 'r5', context: { tenant: 'other' } })).result()
    await (await runtime.start({ agent: testAgent, input: 'c', session: 's', runId: 'r6' })).result()
    expect(seen).toEqual([
      ['r1', context, { tab: 1 }],
      ['r2', context, { tab: 1 }],
      ['r3', context, { tab: 2 }],
      ['r4', context, { tab: 2 }],
      ['r5', { tenant: 'other' }, { tab: 2 }],
      ['r6', undefined, undefined],
    ])
    const fork = await runtime.fork('s')
    await (await runtime.retry(fork, 'r5', { runId: 'f1' })).result()
    expect(seen.at(-1)).toEqual(['f1', { tenant: 'other' }, { tab: 2 }])
  }
})

test('law 10: readers, views and results do not contain the context', async () => {
  const { testAgent } = watched()
  const runtime = testRuntime({ agents: [testAgent] })
  const context = { tenant: SECRET }
  await (
    await runtime.start({ agent: testAgent, input: 'a', session: 's', runId: 'r1', messageId: 'm1', context })
  ).result()
  await (await runtime.retry('s', 'r1', { runId: 'r2' })).result()
  const shown = await shownOf(runtime, 's', ['r1', 'r2'])
  expect(shown).toContain('you said a')
  expect(shown).not.toContain(SECRET)
  expect(shown).not.toContain('run-context')
  // It is in the log, and so available to every driver.
  const { head = 0 } = (await runtime.manager.getInfo('s')) ?? {}
  expect(JSON.stringify(await runtime.manager.entries('s', 0, head))).toContain(SECRET)
})

test('resumes a run with the context of the interrupted one', async () => {
  const held = gate()
  const slow = patient(held)
  const seen: (Json | undefined)[] = []
  const testAgent = agent({
    name: 'slow',
    model: slow.model,
    instructions: ({ context }) => {
      seen.push(context)
      return undefined
    },
  })
  const runtime = testRuntime({ agents: [testAgent] })
  const run = await runtime.start({ agent: testAgent, input: 'a', session: 's', context: { tenant: SECRET } })
  await until(run, 'text-delta')
  await run.stop()
  await run.result()
  held.open()
  await (await runtime.resume('s', run.runId)).result()
  expect(seen).toEqual([{ tenant: SECRET }, { tenant: SECRET }])
})

test('rejects a retry or an edit if the stored context is missing, unless the request has one', async () => {
  const { testAgent, seen } = watched()
  const memory = new Memory()
  const runtime = testRuntime({ agents: [testAgent], store: memoryStore(undefined, memory) })
  const context = { tenant: SECRET, large: 'x'.repeat(100_000) }
  const request = { agent: testAgent, input: 'a', session: 's', runId: 'r1', messageId: 'm1', context }
  await (await runtime.start(request)).result()
  memory.logs.get('s')?.blobs.clear()
  expect(await codeOf(runtime.retry('s', 'r1'))).toBe('internal_error')
  expect(await codeOf(runtime.edit('s', 'm1', 'b'))).toBe('internal_error')
  // An explicit context replaces it.
  await (await runtime.retry('s', 'r1', { runId: 'r2', context: { tenant: 'other' } })).result()
  expect(seen).toEqual([
    ['r1', context, undefined],
    ['r2', { tenant: 'other' }, undefined],
  ])
})
