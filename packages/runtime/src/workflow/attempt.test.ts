import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/agent.ts'
import { chunksOf } from '../agent/play.fixture.ts'
import { LEASE_MS, Stage } from '../drive/stage.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { scriptedModel } from '../model/scripted.ts'
import { gate } from '../run/stage.fixture.ts'
import type { NodeContext, NodeDefinition } from './node.ts'
import { inRow, PLACES, Play, publicOf, say, single, wired } from './play.fixture.ts'

/** Code that fails so often, and how often it ran. */
function failing(times: number, error: (n: number) => unknown = n => new Error(`${n}`)) {
  const code = { ran: 0, run: () => fail() }
  const fail = () => {
    if (++code.ran <= times) throw error(code.ran)
    return { data: `after ${code.ran}` }
  }
  return code
}

describe('retry', () => {
  test.each([1, 2, 5])('%i attempts are so many runs of the node, the first included (Kortyx 10.6)', async attempts => {
    const enough = failing(attempts - 1)
    const play = await Play.of(single({ run: enough.run, retry: { attempts } }))
    expect(await play.result()).toMatchObject({ status: 'completed', output: `after ${attempts}` })
    const tooFew = failing(attempts)
    const other = await Play.of(single({ run: tooFew.run, retry: { attempts } }))
    expect(await other.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect([enough.ran, tooFew.ran]).toEqual([attempts, attempts])
    await other.log()
  })

  test('without it a node runs once', async () => {
    const once = failing(1)
    const play = await Play.of(single(once.run))
    expect(await play.result()).toMatchObject({ status: 'failed' })
    expect(once.ran).toBe(1)
  })

  test('only after errors that are meant; a rule that throws ends the run as the failure does', async () => {
    const code = failing(9, n => new RangeError(`${n}`))
    const asked: unknown[] = []
    const when = (error: unknown) => {
      asked.push(error instanceof RangeError && error.message)
      return asked.length < 3
    }
    const play = await Play.of(single({ run: code.run, retry: { attempts: 9, when } }))
    expect(await play.result()).toMatchObject({ status: 'failed' })
    expect([code.ran, asked]).toEqual([3, ['1', '2', '3']])
    const broken = () => {
      throw new Error('the rule')
    }
    const other = await Play.of(single({ run: failing(9).run, retry: { attempts: 9, when: broken } }))
    expect(await other.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect(other.told.map(({ cause }) => String(cause)).join()).toContain('the rule')
  })

  test('it waits longer each time, up to the longest', async () => {
    const stage = new Stage()
    const at: number[] = []
    const run = () => {
      at.push(stage.clock.now())
      throw new Error('no')
    }
    const own = single({ run, retry: { attempts: 5, backoff: { first: 100, longest: 300 } } })
    const { runtime } = stage.process(() => [], { workflows: [own], engine: { pollMs: 50 } })
    await runtime.start({ workflow: own, input: 'Go.', session: 's', runId: 'r' })
    expect(await stage.ended('s', 'r')).toBe('failed')
    expect(at.slice(1).map((time, index) => time - (at[index] as number))).toEqual([100, 200, 300, 300])
  })

  test('failures are counted in the log: another process does not begin again', async () => {
    const stage = new Stage()
    let ran = 0
    const cut = gate()
    const own = single({
      retry: { attempts: 3, backoff: { first: 1 } },
      run: async () => {
        if (++ran === 2) {
          cut.open()
          await new Promise(() => {})
        }
        throw new Error('no')
      },
    })
    const begin = () => stage.process(() => [], { workflows: [own], engine: { pollMs: 50 } })
    const process = begin()
    await process.runtime.start({ workflow: own, input: 'Go.', session: 's', runId: 'r' })
    await stage.clock.until(cut.opened)
    process.kill()
    begin()
    await stage.clock.advance(LEASE_MS * 2)
    expect(await stage.ended('s', 'r')).toBe('failed')
    // The second try was cut off, and did not fail: it was made again, and the third was the last.
    expect(ran).toBe(4)
  })

  test('on shutdown nobody waits for the next try, and another process makes it', async () => {
    const stage = new Stage()
    const code = failing(1)
    const own = single({ run: code.run, retry: { attempts: 2, backoff: { first: 9000 } } })
    const begin = () => stage.process(() => [], { workflows: [own], engine: { pollMs: 50 } })
    const { runtime } = begin()
    await runtime.start({ workflow: own, input: 'Go.', session: 's', runId: 'r' })
    await stage.seen('s', ({ chunk }) => chunk.type === 'hook-completed' && JSON.stringify(chunk).includes('failures'))
    const before = stage.clock.now()
    await stage.clock.until(runtime.close())
    expect(stage.clock.now() - before).toBeLessThan(1000)
    expect(code.ran).toBe(1)
    begin()
    expect(await stage.ended('s', 'r')).toBe('completed')
    expect(code.ran).toBe(2)
  })

  test('what a try has said is taken back, unless it was committed', async () => {
    const code = failing(2)
    const own = single({
      retry: { attempts: 3 },
      run: async () => {
        await useReason({ model: scriptedModel([{ text: 'Once.' }]), input: 'Go.', id: 'q' })
        await useStructuredData({ streamId: 'o', data: code.ran })
        return code.run()
      },
    })
    const play = await Play.of(own)
    expect(await play.result()).toMatchObject({ status: 'completed', text: 'Once.' })
    expect((await play.view()).structured).toMatchObject([{ data: 2 }])
    expect(chunksOf(await play.log(), 'step-discarded')).toHaveLength(2)
  })

  describe.each(PLACES)('%s', (_, opening) => {
    test('waiting for a person is no failure, and nobody is asked twice (Kortyx 10.6)', async () => {
      let starts = 0
      let failures = 0
      const own = single({
        retry: { attempts: 2 },
        run: async () => {
          starts++
          const one = await useInterrupt(say('One?'))
          const two = await useInterrupt(say('Two?'))
          if (++failures < 2) throw new Error('not yet')
          return { data: [one, two] }
        },
      })
      const play = await Play.of(own, { open: await opening() })
      expect(await play.asked()).toEqual(['1.node.1/@.1'])
      expect(starts).toBe(1)
      await play.answer('1.node.1/@.1', 'a')
      await play.result()
      await play.restart()
      await play.answer('1.node.1/@.2', 'b')
      expect(await play.result()).toMatchObject({ status: 'completed', output: ['a', 'b'] })
      // One start for each pause, one after the last answer, one after the failure.
      expect(starts).toBe(4)
      expect(chunksOf(await play.log(), 'interrupt')).toHaveLength(2)
    })

    test('a question that a failure came across is waited for by the next try', async () => {
      let tries = 0
      const own = single({
        retry: { attempts: 2 },
        run: async () => {
          const answer = useInterrupt(say('One?', { id: 'q' }))
          await useStep('asked', () => 1)
          if (++tries === 1) throw new Error('not yet')
          return { data: await answer }
        },
      })
      const play = await Play.of(own, { open: await opening() })
      expect(await play.asked()).toEqual(['1.node.1/useInterrupt:q.1'])
      await play.answer('1.node.1/useInterrupt:q.1', 'a')
      expect(await play.result()).toMatchObject({ status: 'completed', output: 'a' })
      expect(chunksOf(await play.log(), 'interrupt')).toHaveLength(1)
    })
  })
})

describe('error policies (Kortyx 10.6)', () => {
  test('stop: the run fails, and nothing follows', async () => {
    let after = 0
    const own = inRow({ first: { run: failing(1).run, onError: 'stop' }, second: () => void after++ })
    const play = await Play.of(own)
    expect(await play.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect(after).toBe(0)
    await play.log()
  })

  test('continue: the next node is given what the policy says', async () => {
    const own = inRow({
      first: { run: failing(1).run, onError: { continue: { items: [] } } },
      second: ({ input }: NodeContext) => ({ data: input }),
    })
    expect(await (await Play.of(own)).result()).toMatchObject({ status: 'completed', output: { items: [] } })
  })

  test('route: another node is told what failed, and with what', async () => {
    const own = wired(
      {
        first: { run: failing(9).run, onError: { route: 'mend' }, retry: { attempts: 2 } },
        second: () => {},
        mend: ({ input }: NodeContext) => ({ data: input }),
      },
      [
        ['start', 'first'],
        ['first', 'second'],
        ['second', 'end'],
        ['mend', 'end'],
      ],
    )
    const output = { node: 'first', code: 'workflow_node_failed', message: 'node first failed', input: 'Go.' }
    expect(await (await Play.of(own)).result()).toMatchObject({ status: 'completed', output })
  })

  test.each<[string, NodeDefinition]>([
    ['what a node returned', () => ({ result: 1 }) as never],
    ['a hook', async () => void (await useStep('', () => 1))],
    ['what a step gave', async () => void (await useStep('a', () => 1n))],
    [
      'an agent',
      agent({ name: 'broken', model: scriptedModel(() => Promise.reject(new Error('no')) as never), maxRetries: 0 }),
    ],
  ])('they are for all that goes wrong in a node: %s', async (_, run) => {
    const node = (typeof run === 'function' ? { run } : { agent: run }) as object
    const own = inRow({ first: { ...node, onError: { continue: 'instead' } } as NodeDefinition })
    expect(await (await Play.of(own)).result()).toMatchObject({ status: 'completed', output: 'instead' })
  })
})

describe('what a node returns', () => {
  test.each<[string, unknown, string]>([
    ['text', 'done', 'data'],
    ['a list', [1], 'data'],
    ['a number', 5, 'data'],
    ['data that is a function', { data: () => 1 }, 'data'],
    ['data that is no JSON', { data: 1n }, 'data'],
    ['a condition that is no text', { condition: true }, 'condition'],
    ['a transition that is no text', { transitionTo: 5 }, 'transitionTo'],
    ['a message that is no text', { ui: { message: 5 } }, 'ui.message'],
    ['ui that is text', { ui: 'hello' }, 'ui'],
    ['structured data without data', { ui: { structured: { title: 'x' } } }, 'ui.structured'],
    ['structured data that is no object', { ui: { structured: 'x' } }, 'ui.structured'],
  ])('%s is refused, by its name', async (_, returned, found) => {
    const play = await Play.of(single(() => returned as never))
    const { status, error } = await play.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('node node returned')
    expect(error?.message).toContain(found)
    await play.log()
  })

  test.each<[string, unknown, string]>([
    ['a field that is none', { result: 1 }, 'result'],
    ['a field of another system', { data: 1, intent: 'x' }, 'intent'],
    ['a field of ui that is none', { ui: { text: 'hello' } }, 'text'],
  ])('law 10: %s is refused; its name is for the logger', async (_, returned, field) => {
    const play = await Play.of(single(() => returned as never))
    const { status, error } = await play.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('node node returned')
    expect(error?.message).not.toContain(field)
    expect(play.told.map(({ cause }) => String(cause)).join()).toContain(`there is no field ${field}`)
  })

  test.each([[undefined], [null], [{}], [{ ui: {} }], [{ data: undefined }]])(
    '%o is nothing: the next node is given what this one was',
    async returned => {
      const own = inRow({ first: () => returned as never, second: ({ input }: NodeContext) => ({ data: { input } }) })
      expect(await (await Play.of(own)).result()).toMatchObject({ status: 'completed', output: { input: 'Go.' } })
    },
  )

  test('data is as JSON has it, and a copy', async () => {
    const shared = { at: new Date(0), list: [1], nothing: undefined }
    const own = inRow({
      first: () => ({ data: shared }),
      second: ({ input }: NodeContext<typeof shared>) => {
        input.list.push(2)
        shared.list.push(3)
        return { data: input }
      },
    })
    const output = { at: '1970-01-01T00:00:00.000Z', list: [1, 2] }
    expect((await (await Play.of(own)).result()).output).toEqual(output)
  })

  test('an output that the log does not take is the fault of its node, and says so', async () => {
    const play = await Play.of(single(() => ({ data: 'x'.repeat(2_000_000) })))
    const { status, error } = await play.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('node node')
    // Between nodes it may be large.
    const own = inRow({
      first: () => ({ data: 'x'.repeat(2_000_000) }),
      second: ({ input }: NodeContext<string>) => ({ data: input.length }),
    })
    expect(await (await Play.of(own)).result()).toMatchObject({ output: 2_000_000 })
  })
})

describe('an end that cannot be committed is a failure of its node', () => {
  const huge = 'x'.repeat(17_000_000)
  const next: NodeDefinition = ({ input }: NodeContext<unknown>) => ({ data: input })
  test.each<[what: string, last: boolean]>([
    ['data', false],
    ['output', true],
  ])(
    '%s that the log does not take: it is not tried again, what it said is taken back, and onError decides',
    async (_, last) => {
      let ran = 0
      const run = () => {
        ran++
        return { data: huge, ui: { message: 'There.' } }
      }
      const node = { run, retry: { attempts: 3 }, onError: { continue: 'small' } }
      const play = await Play.of(last ? single(node) : inRow({ node, next }))
      expect(await play.result()).toMatchObject({ status: 'completed', output: 'small', text: '' })
      expect(ran).toBe(1)
      await play.log()
      const stopped = { run, retry: { attempts: 3 } }
      const other = await Play.of(last ? single(stopped) : inRow({ node: stopped, next }))
      const code = last ? 'validation_failed' : 'hook_result_too_large'
      expect(await other.result()).toMatchObject({ status: 'failed', error: { code } })
    },
  )

  test('state that is too large together with that of another branch', async () => {
    let met = 0
    const both = gate()
    const branch = (name: string): NodeDefinition => ({
      run: async () => {
        for (let n = 0; n < 10; n++) useWorkflowState<string>(`${name}${n}`)[1]('x'.repeat(60_000))
        if (++met === 2) both.open()
        await both.opened
        return { data: name }
      },
      onError: { continue: 'failed' },
    })
    const own = wired({ a: () => ({}), b: branch('b'), c: branch('c'), d: next }, [
      ['start', 'a'],
      ['a', ['b', 'c'], { join: 'd' }],
      ['b', 'd'],
      ['c', 'd'],
      ['d', 'end'],
    ])
    const { output } = await (await Play.of(own)).result()
    expect(Object.values(output as object).sort()).toEqual([expect.stringMatching(/^[bc]$/), 'failed'])
  })
})

test('law 10: a last node without data gives the run no output, whatever it had received', async () => {
  const own = inRow({
    first: () => ({ data: { card: '4242' } }),
    last: () => ({ ui: { message: 'Paid.' } }),
  })
  const play = await Play.of(own)
  expect(await play.result()).toMatchObject({ status: 'completed', output: undefined, text: 'Paid.' })
  expect(JSON.stringify(publicOf(await play.log()))).not.toContain('4242')
})

describe('ui', () => {
  test('a message is said once, after what the node has said, and blanks are none', async () => {
    const own = inRow({
      first: async () => {
        await useInterrupt(say('One?'))
        return { ui: { message: 'First.' } }
      },
      second: () => ({ ui: { message: '  \n' } }),
      third: () => ({ ui: { message: 'Third.', structured: { data: { n: 3 }, dataType: 'count', streamId: 'c' } } }),
    })
    const play = await Play.of(own)
    await play.result()
    await play.answer('1.first.1/@.1', 'yes')
    const { message, text } = await play.result()
    expect(text).toBe('First.Third.')
    expect(message?.parts.filter(({ type }) => type === 'text')).toHaveLength(2)
    expect((await play.view()).structured).toMatchObject([
      { streamId: 'c', dataType: 'count', status: 'done', data: { n: 3 } },
    ])
    expect(play.told).toEqual([])
    await play.log()
  })

  test('who says what a model has streamed is warned, and only then', async () => {
    const node = (emit: boolean, isSame = true): NodeDefinition => ({
      run: async () => {
        const { text } = await useReason({ model: scriptedModel([{ text: 'Hello.' }]), input: 'Go.', emit })
        return { ui: { message: isSame ? text : `${text} More.` } }
      },
    })
    const warned = await Play.of(single(node(true)))
    expect(await warned.result()).toMatchObject({ status: 'completed', text: 'Hello.Hello.' })
    expect(warned.told.map(({ message }) => message)).toEqual([expect.stringContaining('shown twice')])
    for (const other of [node(false), node(true, false)]) {
      const play = await Play.of(single(other))
      await play.result()
      expect(play.told).toEqual([])
    }
  })

  test('what an output is checked by says nothing of what a node may show', async () => {
    const model = scriptedModel([{ text: '{"n":1}' }])
    const own = single(async () => {
      const { output } = await useReason({ model, input: 'Go.', outputSchema: z.object({ n: z.number() }) })
      return { data: output, ui: { message: `It is ${output.n}.` } }
    })
    const play = await Play.of(own)
    expect(await play.result()).toMatchObject({ status: 'completed', text: 'It is 1.', output: { n: 1 } })
    expect(play.told).toEqual([])
  })
})
