import { memoryStore } from '@millrace/log'
import type { Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { heardModel } from '../agent/play.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { soundLog } from '../run/people.fixture.ts'
import { codeOf, stage } from '../run/stage.fixture.ts'
import type { Runtime } from '../runtime.ts'
import type { NodeContext } from './node.ts'
import { inRow, Play, say, single, wired } from './play.fixture.ts'

const SESSION = 's'

/** Answers the only question of a run that waits. */
async function answer(runtime: Runtime, runId: string, response: string): Promise<void> {
  const { pendings } = await runtime.run(SESSION, runId).result()
  expect(pendings).toHaveLength(1)
  await runtime.answer(SESSION, { kind: 'interrupt', id: pendings[0]?.id ?? '', response })
}

const ofRun = (log: readonly Entry[], runId: string): Entry[] => log.filter(({ origin }) => origin.runId === runId)

describe('a run that goes on from one that was interrupted', () => {
  test('stands where the other stood: what that has committed is not done, asked, said or paid for again', async () => {
    const done: string[] = []
    const { model, heard } = heardModel([{ text: 'Dear Ann' }])
    const own = inRow({
      first: async ({ input }: NodeContext<string>) => {
        const [, set] = useWorkflowState<string[]>('seen')
        set(['first'])
        await useStep('once', () => void done.push('first'))
        return { data: `${input}!` }
      },
      second: async ({ input }: NodeContext<string>) => {
        done.push('second begins')
        const [seen, set] = useWorkflowState<string[]>('seen', [])
        const [own, setOwn] = useNodeState(1)
        useStructuredData({ data: { input } })
        useStructuredData({ kind: 'append', streamId: 'list', path: 'items', items: [1] })
        const { text } = await useReason({ model, input: 'Write' })
        set([...seen, 'second'])
        setOwn(own + 1)
        const name = await useInterrupt(say('Who?', { id: 'name' }))
        const key = await useStep('key', ({ idempotencyKey }) => idempotencyKey)
        const when = await useInterrupt(say('When?', { id: 'when' }))
        useStructuredData({ kind: 'append', streamId: 'list', path: 'items', items: [2] })
        const [state] = useWorkflowState('seen')
        return { data: { input, text, name, when, key, state, own }, ui: { message: 'There' } }
      },
    })
    const play = await Play.of(own)
    await answer(play.runtime, 'r', 'Ann')
    expect(await play.asked()).toEqual(['1.second.1/useInterrupt:when.1'])
    await play.runtime.stop(SESSION, 'r')
    expect((await play.result()).status).toBe('interrupted')
    const old = (await play.log()).length
    const run = await play.runtime.resume(SESSION, 'r', { runId: 'r2' })
    const paused = await run.result()
    expect(paused.pendings.map(({ id }) => id)).toEqual(['r2::1.second.1/useInterrupt:when.1'])
    await play.restart()
    await answer(play.runtime, 'r2', 'Now')
    const { status, output, text } = await play.runtime.run(SESSION, 'r2').result()
    expect({ status, output, text }).toEqual({
      status: 'completed',
      text: 'There',
      output: {
        input: 'Go.!',
        text: 'Dear Ann',
        name: 'Ann',
        when: 'Now',
        key: 's/r/1.second.1%2FuseStep%3Akey.1',
        state: ['first', 'second'],
        own: 1,
      },
    })
    expect(heard).toHaveLength(1)
    expect(done.filter(line => line === 'first')).toHaveLength(1)
    const log = await play.log()
    const fresh = log.slice(old)
    expect(fresh.some(({ chunk }) => chunk.type === 'rewind')).toBe(false)
    const shown = fresh.filter(({ chunk }) => chunk.type === 'structured-data')
    expect(shown.map(({ chunk }) => chunk)).toMatchObject([{ kind: 'append', items: [2] }])
    const { view } = await play.runtime.view(SESSION)
    expect(view.structured.map(({ data }) => data)).toEqual([{ input: 'Go.!' }, { items: [1, 2] }])
    // It says itself where it stands, and nobody need read the other.
    const told = ofRun(fresh, 'r2').filter(({ chunk }) => chunk.type === 'status' || chunk.type === 'session')
    expect(told.map(({ chunk }) => chunk)).toEqual([
      { type: 'session', sessionId: SESSION },
      { type: 'status', message: 'second' },
    ])
  })
})
