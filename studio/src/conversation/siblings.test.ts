import { type Entry, foldLog } from '@millrace/protocol'
import { agent, createRuntime, memoryStore, type Runtime, scriptedModel } from 'millrace'
import { expect, onTestFinished, test } from 'vitest'
import { type Sibling, siblingsOf } from './siblings.ts'

let answers = 0
const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: `${lastText}${++answers}` })) })

/** A session, and helpers that fold its log up to a sequence. */
function stage() {
  answers = 0
  const runtime: Runtime = createRuntime({
    store: memoryStore(),
    agents: [echo],
    engine: { pollMs: 10, graceMs: 0 },
    logger: { warn() {}, error() {} },
  })
  onTestFinished(() => runtime.close())
  const ended = async (run: Promise<{ result(): Promise<unknown> }>) => {
    await (await run).result()
  }
  const log = async (): Promise<Entry[]> => {
    const { head = 0, floor = 0 } = (await runtime.manager.getInfo('s')) ?? {}
    return runtime.manager.entries('s', floor, head)
  }
  return {
    say: (id: string) =>
      ended(runtime.start({ agent: echo, input: id, session: 's', messageId: id, runId: `run-${id}` })),
    edit: (id: string, as: string) => ended(runtime.edit('s', id, as, { newMessageId: as, runId: `run-${as}` })),
    again: (runId: string, as: string) => ended(runtime.retry('s', runId, { runId: as })),
    /** With all runs of the session loaded, or only some. */
    async siblings(only?: readonly string[]) {
      const { runs, requests } = (await runtime.view('s')).view
      const isRead = ({ runId }: { readonly runId: string }) => only?.includes(runId) ?? true
      return siblingsOf({ runs: runs.filter(isRead), requests: requests.filter(isRead) })
    },
    /** The texts of all messages at the end of each sibling. */
    async textsAt(siblings: readonly Sibling[]) {
      const entries = await log()
      return siblings.map(({ end = Number.POSITIVE_INFINITY }) => {
        const upTo = entries.filter(({ sequence }) => sequence <= end)
        const { messages } = foldLog(upTo).view()
        return messages.map(({ parts }) => parts.map(part => ('text' in part ? part.text : '')).join('')).join(' ')
      })
    },
  }
}

test('has no siblings without a rewind', async () => {
  const on = stage()
  await on.say('a')
  await on.say('b')
  expect((await on.siblings()).byRun.size).toBe(0)
})

test('lists every version of a message that was edited twice', async () => {
  const on = stage()
  await on.say('a')
  await on.say('b')
  await on.edit('b', 'c')
  await on.edit('c', 'd')
  const siblings = await on.siblings()
  for (const runId of ['run-b', 'run-c', 'run-d']) {
    const { messages = [], answers = [] } = siblings.byRun.get(runId) ?? {}
    expect(messages.map(message => message.runId)).toEqual(['run-b', 'run-c', 'run-d'])
    expect(answers.map(answer => answer.runId)).toEqual([runId])
    expect(await on.textsAt(messages)).toEqual(['a a1 b b2', 'a a1 c c3', 'a a1 d d4'])
    expect(messages.at(-1)?.end).toBeUndefined()
    expect(siblings.byMessage.get(runId.slice(4))?.messages).toBe(messages)
  }
  expect(siblings.byRun.get('run-a')).toBeUndefined()
})

test('lists every regenerated response under the same message', async () => {
  const on = stage()
  await on.say('a')
  await on.again('run-a', 'second')
  await on.again('second', 'third')
  const siblings = await on.siblings()
  const { messages = [], answers = [] } = siblings.byRun.get('third') ?? {}
  expect(messages.map(message => message.runId)).toEqual(['third'])
  expect(answers.map(answer => answer.runId)).toEqual(['run-a', 'second', 'third'])
  expect(await on.textsAt(answers)).toEqual(['a a1', 'a a2', 'a a3'])
})

test('keeps the siblings of later turns when an earlier turn is edited', async () => {
  const on = stage()
  await on.say('a')
  await on.say('b')
  await on.edit('b', 'c')
  await on.again('run-c', 'again')
  await on.edit('a', 'z')
  await on.say('y')
  const siblings = await on.siblings()
  const first = siblings.byRun.get('run-z')
  expect(first?.messages.map(message => message.runId)).toEqual(['run-a', 'run-z'])
  expect(await on.textsAt(first?.messages ?? [])).toEqual(['a a1 c c4', 'z z5 y y6'])
  const later = siblings.byRun.get('again')
  // A version of a message is shown with its last response.
  expect(later?.messages.map(message => message.runId)).toEqual(['run-b', 'again'])
  expect(await on.textsAt(later?.messages ?? [])).toEqual(['a a1 b b2', 'a a1 c c4'])
  expect(await on.textsAt(later?.answers ?? [])).toEqual(['a a1 c c3', 'a a1 c c4'])
  expect(siblings.byRun.get('run-y')).toBeUndefined()
})

test('counts a rewound turn that is not loaded', async () => {
  const on = stage()
  await on.say('a')
  await on.edit('a', 'b')
  const { messages = [], answers = [] } = (await on.siblings(['run-b'])).byRun.get('run-b') ?? {}
  expect(messages).toHaveLength(2)
  expect(answers).toHaveLength(1)
  expect(await on.textsAt(messages)).toEqual(['a a1', 'b b2'])
})
