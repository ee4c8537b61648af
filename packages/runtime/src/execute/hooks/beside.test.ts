// Hooks side by side: which of them is faster may be another when a node starts again, and nothing comes of that.

import { expect, test } from 'vitest'
import { gate } from '../../api/test-runtime.fixture.ts'
import { Play, say, single } from '../workflow/play.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

/** Two flows, of which the second is answered first and the first waits for a question; then the process goes. */
async function twoFlows(flow: (name: string) => Promise<unknown>) {
  const slow = gate()
  let life = 0
  const own = single(async () => {
    const isFirst = life++ === 0
    const run = async (name: string) => {
      await useStep(name, () => (name === 'a' && isFirst ? slow.opened.then(() => 1) : 1))
      const given = await flow(name)
      if (name === 'b') slow.open()
      await useInterrupt(say(`${name}?`, { id: `q${name}` }))
      return given ?? null
    }
    return { data: await Promise.all([run('a'), run('b')]) }
  })
  const play = await Play.of(own)
  await play.result()
  await play.restart()
  await play.answer('1.node.1/useInterrupt:qa.1', 'yes')
  await play.answer('1.node.1/useInterrupt:qb.1', 'yes')
  return { play, result: await play.result() }
}

test('what flows add to one value and one object is there once each, whichever comes first', async () => {
  const { play, result } = await twoFlows(async name => {
    const [, set] = useWorkflowState<string[]>('list', [])
    set(list => [...(list ?? []), name])
    useStructuredData({ streamId: 'rows', kind: 'append', path: 'rows', items: [name] })
    await useStep(`${name}2`, () => 1)
    return useWorkflowState<string[]>('list', [])[0].length
  })
  expect(result).toMatchObject({ status: 'completed', output: [2, 1] })
  expect((await play.view()).structured).toMatchObject([{ data: { rows: ['b', 'a'] } }])
})

test('each flow reads again what it had read', async () => {
  const { result } = await twoFlows(async name => {
    const [last, set] = useWorkflowState('last', 'nobody')
    set(name)
    await useStep(`${name}2`, () => 1)
    return `${name} after ${last}`
  })
  expect(result).toMatchObject({ status: 'completed', output: ['a after b', 'b after nobody'] })
})

test('what is told apart by its place alone is refused side by side', async () => {
  const own = single(async () => {
    const flow = async (name: string) => {
      await useStep(name, () => 1)
      return useNodeState(name)[0]
    }
    return { data: await Promise.all([flow('a'), flow('b')]) }
  })
  const { error } = await (await Play.of(own)).result()
  expect(error).toMatchObject({ code: 'validation_failed' })
  expect(error?.message).toContain('call it before them')
})

test('one id is for one hook at a time', async () => {
  const own = single(async () => {
    await Promise.all([useStep('same', () => 1), useStep('same', () => 2)])
  })
  const { error } = await (await Play.of(own)).result()
  expect(error).toMatchObject({ code: 'validation_failed' })
  expect(error?.message).toContain('another by the id same is under way')
})

test('code that computes between hooks of flows is not taken for other code', async () => {
  const done = gate()
  const own = single(async () => {
    const flow = async (name: string, computing: Promise<void> | undefined) => {
      await useStep(`${name}1`, () => 1)
      await computing
      return useStep(`${name}2`, () => name)
    }
    const b = flow('b', undefined).finally(done.open)
    const data = await Promise.all([flow('a', done.opened), b])
    await useInterrupt(say('Well?'))
    return { data }
  })
  const play = await Play.of(own)
  await play.result()
  await play.restart()
  await play.answer('1.node.1/@.1', 'yes')
  expect(await play.result()).toMatchObject({ status: 'completed', output: ['a', 'b'] })
})

test('state is set by the code of the node, not by a step, which is not done again', async () => {
  const own = single(async () => {
    const [, set] = useWorkflowState<string[]>('cart', [])
    await useStep('add', () => set(['tea']))
  })
  const { error } = await (await Play.of(own)).result()
  expect(error).toMatchObject({ code: 'validation_failed' })
  expect(error?.message).toContain("set it where the node's own code runs")
})

test('a try after one that failed sets what it comes to, and adds nothing twice', async () => {
  let tries = 0
  const own = single({
    run: async () => {
      const [, set] = useWorkflowState('status', 'none')
      const [, add] = useWorkflowState('count', 0)
      const isFirst = ++tries === 1
      set(isFirst ? 'failed' : 'ok')
      add(count => (count ?? 0) + 1)
      useStructuredData({ streamId: 's', kind: 'set', path: 'status', value: isFirst ? 'failed' : 'ok' })
      useStructuredData({ streamId: 's', kind: 'append', path: 'rows', items: ['row'] })
      await useStep('kept', () => 1)
      if (isFirst) throw new Error('no')
      await useStep('then', () => 1)
      return { data: [useWorkflowState('status', 'none')[0], useWorkflowState('count', 0)[0]] }
    },
    retry: { attempts: 2, backoff: { first: 1 } },
  })
  const play = await Play.of(own)
  expect(await play.result()).toMatchObject({ status: 'completed', output: ['ok', 1] })
  expect((await play.view()).structured).toMatchObject([{ data: { status: 'ok', rows: ['row'] } }])
})

test('every commit of a node has a name of its own', async () => {
  const own = single(async () => {
    for (const name of ['a', 'b', 'a']) await useStep(name, () => 1)
    await useInterrupt(say('Well?'))
  })
  const play = await Play.of(own)
  await play.result()
  const ids = (await play.log()).flatMap(({ chunk }) =>
    chunk.type === 'checkpoint-created' ? [chunk.checkpointId] : [],
  )
  expect(ids.length).toBeGreaterThan(4)
  expect(new Set(ids).size).toBe(ids.length)
})

test('a hook that nobody waits for and that fails is told to the logger, and takes no process down', async () => {
  const own = single(async () => {
    useStep('lost', () => Promise.reject(new Error('nobody hears this')))
    await useStep('heard', () => 1)
    await useInterrupt(say('Well?', { id: 'q' }))
  })
  const play = await Play.of(own)
  expect((await play.result()).status).toBe('paused')
  expect(play.logged.map(({ message }) => message)).toContain('a hook failed')
})
