// State as a guard: code that sets a value before a hook finds it set when its node starts again.

import type { Json } from '@millrace/protocol'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { subAgentCall } from '../../api/pendings.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { Section } from '../replay/section.ts'
import { crashAtEveryAppend } from '../workflow/crash-everywhere.fixture.ts'
import { caller } from '../workflow/tool.fixture.ts'
import {
  STORES,
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
  wired,
} from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'
import { type SetState, useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

/** A question of a node, by its number. */
const question = (n: number): string => `1.node.1/useInterrupt:${n}.1`
const ask = (n: number) => useInterrupt(textInterrupt(`${n}?`, { id: `${n}` }))

/** Answers questions of the only node one after the other, each in another process, and returns the result. */
async function answered(testRun: WorkflowTestRun, ...questions: readonly number[]) {
  for (const n of questions) {
    expect(await testRun.questionIds()).toContain(question(n))
    await testRun.restart()
    await testRun.answer(question(n), 'yes')
  }
  const { status, output, error } = await testRun.result()
  await testRun.log()
  return error ?? { status, output }
}

const GUARDS: readonly (readonly [string, () => [boolean, SetState<boolean>]])[] = [
  ['useNodeState', () => useNodeState(false)],
  ['useWorkflowState', () => useWorkflowState('sent', false)],
]

describe.each(STORES)('a guard before a question, %s', (_, opening) => {
  test.each(GUARDS)('runs its code once with %s', async (_, guard) => {
    let sent = 0
    const testWorkflow = single(async () => {
      const [isSent, set] = guard()
      if (!isSent) {
        await Promise.resolve()
        sent++
        set(true)
      }
      return { data: [await ask(1), await ask(2), await ask(3)] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await answered(testRun, 1, 2, 3)).toEqual({ status: 'completed', output: ['yes', 'yes', 'yes'] })
    expect(sent).toBe(1)
  })
})

describe('a guard', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('guards until it is reset after a hook, and the reset is kept', async () => {
    const model = scriptedModel(() => ({ text: 'Well.' }))
    const testWorkflow = sequence({
      node: async () => {
        const [isStarted, setStarted] = useWorkflowState('started', false)
        if (!isStarted) {
          useStructuredData({ dataType: 'lifecycle', data: { step: 'start' } })
          setStarted(true)
        }
        await useReason({ id: 'one', model, input: 'Go.' })
        setStarted(false)
        await ask(1)
        await ask(2)
      },
      last: () => ({ data: useWorkflowState<boolean>('started')[0] ?? null }),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await answered(testRun, 1, 2)).toEqual({ status: 'completed', output: false })
    expect((await testRun.view()).structured.map(({ data }) => data)).toEqual([{ step: 'start' }])
  })

  test('skips updates of an object, and later updates of the object are shown', async () => {
    const show = (item: string) => useStructuredData({ kind: 'append', streamId: 's', path: 'rows', items: [item] })
    const testWorkflow = single(async () => {
      const [isShown, setShown] = useNodeState(false)
      if (!isShown) {
        show('first')
        show('second')
        setShown(true)
      }
      show('third')
      await ask(1)
      show('fourth')
      await ask(2)
      show('fifth')
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await answered(testRun, 1, 2)
    const rows = ['first', 'second', 'third', 'fourth', 'fifth']
    expect((await testRun.view()).structured).toMatchObject([{ data: { rows } }])
  })

  test('skips objects without an id, and later ones keep their ids', async () => {
    const testWorkflow = single(async () => {
      const [isShown, setShown] = useNodeState(false)
      if (!isShown) {
        useStructuredData({ data: 1 })
        setShown(true)
      }
      await ask(1)
      useStructuredData({ data: 2 })
      await ask(2)
      useStructuredData({ data: 3 })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await answered(testRun, 1, 2)
    expect((await testRun.view()).structured.map(({ data }) => data)).toEqual([1, 2, 3])
  })

  test('skips reads and changes of other state, and later ones continue', async () => {
    const note = (text: string) => {
      const [, set] = useWorkflowState<string[]>('notes', [])
      set(notes => [...(notes ?? []), text])
    }
    const lengths: number[] = []
    const testWorkflow = sequence({
      node: async () => {
        const [isNoted, setNoted] = useNodeState(false)
        if (!isNoted) {
          note('one')
          note('two')
          setNoted(true)
        }
        await ask(1)
        lengths.push(useWorkflowState<string[]>('notes', [])[0].length)
        note('three')
        const [value, setValue] = useNodeState('initial')
        await ask(2)
        setValue('set')
        note('four')
        return { data: value }
      },
      last: ({ input }: NodeContext<string>) => ({ data: [input, ...useWorkflowState<string[]>('notes', [])[0]] }),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await answered(testRun, 1, 2)).toMatchObject({ output: ['initial', 'one', 'two', 'three', 'four'] })
    expect(lengths).toEqual([2, 3])
  })

  test('may be read and set by separate calls', async () => {
    let sent = 0
    const isSent = () => useWorkflowState('sent', false)[0]
    const markSent = () => useWorkflowState('sent', false)[1](true)
    const testWorkflow = single(async () => {
      if (!isSent()) {
        sent++
        markSent()
      }
      await ask(1)
      if (!isSent()) sent++
    })
    await answered(await WorkflowTestRun.start(testWorkflow), 1)
    expect(sent).toBe(1)
  })

  test('counts once if a function sets it, and returns the count', async () => {
    const seen: number[] = []
    const testWorkflow = sequence({
      node: async () => {
        const [count, set] = useNodeState(0)
        set((n = 0) => n + 1)
        set((n = 0) => n + 1)
        const [total, setTotal] = useWorkflowState('total', 0)
        setTotal(total + 1)
        seen.push(count, total)
        await ask(1)
        set((n = 0) => n + 1)
        await ask(2)
        return { data: useNodeState<number>()[0] ?? null }
      },
      last: () => ({ data: useWorkflowState<number>('total')[0] ?? null }),
    })
    await answered(await WorkflowTestRun.start(testWorkflow), 1, 2)
    expect(seen).toEqual([0, 0, 2, 1, 2, 1])
  })

  test('reads the initial value again after it is removed', async () => {
    const seen: Json[] = []
    const testWorkflow = sequence({
      first: () => useWorkflowState<string>('k')[1]('kept'),
      node: async () => {
        const [value, set] = useWorkflowState<string>('k', 'initial')
        seen.push(value)
        set(undefined)
        await ask(1)
      },
    })
    await answered(await WorkflowTestRun.start(testWorkflow), 1)
    expect(seen).toEqual(['kept', 'initial'])
  })

  test('reads in each visit of a looping node the value that the previous visit has set', async () => {
    const sent: string[] = []
    const testWorkflow = wired(
      {
        node: async ({ step }: NodeContext) => {
          const [sentIn, setSentIn] = useNodeState(0)
          if (sentIn < step) {
            sent.push(`visit ${step} after ${sentIn}`)
            setSentIn(step)
          }
          await useInterrupt(textInterrupt('Well?', { id: 'q' }))
          return { condition: step < 3 ? 'again' : 'done' }
        },
      },
      [
        ['start', 'node'],
        ['node', 'node', { when: 'again' }],
        ['node', 'end', { when: 'done' }],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    for (const visit of [1, 2, 3]) {
      await testRun.restart()
      await testRun.answer((await testRun.questionIds())[0] ?? '', `${visit}`)
    }
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect(sent).toEqual(['visit 1 after 0', 'visit 2 after 1', 'visit 3 after 2'])
  })

  test('guards code of a retried node once a hook was committed, and not before', async () => {
    const events: string[] = []
    const failOnce = (name: string) => {
      if (events.includes(name)) return
      events.push(name)
      throw new Error(name)
    }
    const testWorkflow = single({
      retry: { attempts: 5, backoff: { firstMs: 1 } },
      run: async () => {
        const [isSent, setSent] = useNodeState(false)
        const [, count] = useWorkflowState('n', 0)
        if (!isSent) {
          events.push('sent')
          count((n = 0) => n + 1)
          setSent(true)
        }
        failOnce('fails before the commit')
        await useStep('commits', () => 1)
        count((n = 0) => n + 10)
        failOnce('fails after the commit')
        await useStep('commits again', () => 1)
        setSent(false)
        count((n = 0) => n + 100)
        await ask(1)
        return { data: useWorkflowState('n', 0)[0] }
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await answered(testRun, 1)).toEqual({ status: 'completed', output: 111 })
    expect(events).toEqual(['sent', 'fails before the commit', 'sent', 'fails after the commit'])
  })

  test('guards each branch of parallel code by a separate value', async () => {
    const sent: string[] = []
    const testWorkflow = single(async () => {
      const invite = async (n: number) => {
        const [isInvited, setInvited] = useWorkflowState(`invited ${n}`, false)
        const show = (status: string) =>
          useStructuredData({ kind: 'append', streamId: `guest ${n}`, path: 'rows', items: [status] })
        if (!isInvited) {
          await new Promise(resolve => setImmediate(resolve))
          sent.push(`invitation ${n}`)
          show('invited')
          setInvited(true)
        }
        const answer = await ask(n)
        show('answered')
        return answer
      }
      return { data: await Promise.all([1, 2, 3].map(invite)) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await answered(testRun, 2, 1, 3)).toMatchObject({ output: ['yes', 'yes', 'yes'] })
    expect(sent).toEqual(['invitation 1', 'invitation 2', 'invitation 3'])
    const { structured } = await testRun.view()
    expect(structured.map(({ data }) => data)).toEqual(Array(3).fill({ rows: ['invited', 'answered'] }))
  })

  test('is not changed by parallel code that sets the value during a hook', async () => {
    const seen: string[] = []
    const testWorkflow = single(async () => {
      const asks = async () => {
        const [mode] = useWorkflowState('mode', 'none')
        seen.push(mode)
        return useInterrupt(textInterrupt(`Without ${mode}?`, { id: '1' }))
      }
      const sets = async () => {
        useWorkflowState('mode', 'none')[1]('fast')
        return ask(2)
      }
      return { data: await Promise.all([asks(), sets()]) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await answered(testRun, 1, 2)).toMatchObject({ status: 'completed' })
    expect(new Set(seen)).toEqual(new Set(['none']))
  })

  test('runs its code once in a branch of a workflow that is a tool, wherever the process crashes', async () => {
    const { shape, kills } = await crashAtEveryAppend({
      programs() {
        const guarded = (name: string) => async () => {
          const [isShown, setShown] = useNodeState(false)
          const [, add] = useWorkflowState('n', 0)
          if (!isShown) {
            useStructuredData({ kind: 'append', streamId: name, path: 'rows', items: ['guarded'] })
            add((n = 0) => n + 1)
            setShown(true)
          }
          await useStep('step', () => 1)
          useStructuredData({ kind: 'append', streamId: name, path: 'rows', items: ['after'] })
          setShown(false)
          add((n = 0) => n + 10)
          return { data: await useInterrupt(textInterrupt('Well?', { id: 'q' })) }
        }
        const inner = wired(
          {
            fork: () => {},
            a: guarded('a'),
            b: guarded('b'),
            join: () => ({ data: useWorkflowState('n', 0)[0] }),
          },
          [
            ['start', 'fork'],
            ['fork', ['a', 'b'], { join: 'join' }],
            ['a', 'join'],
            ['b', 'join'],
            ['join', 'end'],
          ],
          { id: 'inner' },
        )
        return { agents: [caller(inner, [subAgentCall('inner', 'c1')])] }
      },
      start: { agent: 'agent:parent@1' },
      answer: ({ id }) => ({ kind: 'interrupt', id, response: 'yes' }),
    })
    expect(kills).toBeGreaterThan(10)
    expect(shape.agents).toMatchObject([{ agentId: 'inner:c1', result: 22 }])
    const rows = ['guarded', 'after']
    expect(shape.structured).toMatchObject([{ data: { rows } }, { data: { rows } }])
  })

  test('fails the run if it skips a hook that the log has', async () => {
    let sent = 0
    const testWorkflow = single(async () => {
      const [isSent, setSent] = useNodeState(false)
      if (!isSent) {
        setSent(true)
        await useStep('send', () => void sent++)
      }
      return { data: await ask(1) }
    })
    const error = await answered(await WorkflowTestRun.start(testWorkflow), 1)
    expect(error).toMatchObject({ code: 'workflow_changed' })
    const problem =
      'it calls 1.node.1/useInterrupt:1.1 before 1.node.1/useStep:send.1, which came first in the first execution'
    expect(error).toMatchObject({ message: expect.stringContaining(problem) })
    expect(error).toMatchObject({ message: expect.stringContaining('a read of state returns what the node sets') })
    expect(sent).toBe(1)
  })

  test('fails the run if code after a hook depends on the value before it was set', async () => {
    const testWorkflow = single(async () => {
      const [count, set] = useNodeState(0)
      set(count + 1)
      await useStep('step', () => 1)
      if (count === 0) await useStep('first', () => 1)
      return { data: await useInterrupt(textInterrupt(`After ${count}?`, { id: '1' })) }
    })
    const error = await answered(await WorkflowTestRun.start(testWorkflow), 1)
    expect(error).toMatchObject({ code: 'workflow_changed' })
    expect(error).toMatchObject({ message: expect.stringContaining('Set the state after the hooks that depend on') })
  })

  test('fails the run if the value before it was set is in a question', async () => {
    const testWorkflow = single(async () => {
      const [count, set] = useNodeState(0)
      set(count + 1)
      return { data: await useInterrupt(textInterrupt(`After ${count}?`, { id: '1' })) }
    })
    const error = await answered(await WorkflowTestRun.start(testWorkflow), 1)
    expect(error).toMatchObject({ code: 'workflow_changed' })
    expect(error).toMatchObject({ message: expect.stringContaining('differs from the one that was shown') })
    expect(error).toMatchObject({ message: expect.stringContaining('Set the state after the hooks that depend on') })
  })

  test('reads the first value in a log without sections, and changes nothing twice', async () => {
    // Writes the log as versions did before sections were recorded.
    vi.spyOn(Section.prototype, 'change').mockImplementation(() => {})
    const seen: boolean[] = []
    const testWorkflow = sequence({
      node: async () => {
        const [isSent, setSent] = useWorkflowState('sent', false)
        const [, add] = useWorkflowState('n', 0)
        seen.push(isSent)
        if (!isSent) {
          add((n = 0) => n + 1)
          useStructuredData({ kind: 'append', streamId: 's', path: 'rows', items: ['guarded'] })
          setSent(true)
        }
        await ask(1)
        add((n = 0) => n + 10)
        setSent(false)
        await ask(2)
        add((n = 0) => n + 100)
      },
      last: () => ({ data: [useWorkflowState('n', 0)[0], useWorkflowState<boolean>('sent')[0] ?? null] }),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    const kinds = (await testRun.log()).flatMap(({ chunk }) => (chunk.type === 'hook-completed' ? [chunk.hook] : []))
    expect(kinds).not.toContain('section')
    vi.restoreAllMocks()
    expect(await answered(testRun, 1, 2)).toEqual({ status: 'completed', output: [111, false] })
    expect(seen).toEqual([false, false, false])
    expect((await testRun.view()).structured).toMatchObject([{ data: { rows: ['guarded'] } }])
  })
})
