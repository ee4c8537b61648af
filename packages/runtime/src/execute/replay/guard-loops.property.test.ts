// Guards and hooks in loops inside one execution of a node: hooks repeat their ids, and state keys are shared by passes or have one each.

import type { Entry, Json } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { single, textInterrupt } from '../workflow/workflow-test-run.fixture.ts'
import { type InterruptedProgram, type Interruption, type Life, playInterrupted } from './interrupted-run.fixture.ts'

interface Guard {
  readonly do: 'guard'
  readonly by: 'node' | 'run'
  /** Whether all passes of a loop share the key. */
  readonly isShared: boolean
  readonly also: 'nothing' | 'shows' | 'appends' | 'counts'
}

type Op =
  | Guard
  /** `reset` is a step after which the line resets its last guard. `assign` counts by value, `add` by function. */
  | { readonly do: 'step' | 'ask' | 'reason' | 'reset' | 'assign' | 'add' }
  | { readonly do: 'loop'; readonly passes: number; readonly body: readonly Op[] }
  | { readonly do: 'lines'; readonly lines: readonly (readonly Op[])[] }

const opOf = (...by: Guard['by'][]): fc.Arbitrary<Op> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('guard' as const),
        by: fc.constantFrom(...by),
        isShared: fc.boolean(),
        also: fc.constantFrom('nothing' as const, 'shows' as const, 'appends' as const, 'counts' as const),
      }),
    },
    {
      weight: 6,
      arbitrary: fc
        .constantFrom('step' as const, 'ask' as const, 'reason' as const, 'reset' as const, 'assign' as const, 'add')
        .map(what => ({ do: what }) as Op),
    },
  )
const loopOf = (op: fc.Arbitrary<Op>): fc.Arbitrary<Op> =>
  fc.record({
    do: fc.constant('loop' as const),
    passes: fc.integer({ min: 2, max: 3 }),
    body: fc.array(op, { minLength: 1, maxLength: 4 }),
  })
const inLine = opOf('run')
const line = fc.array(fc.oneof({ weight: 4, arbitrary: inLine }, { weight: 1, arbitrary: loopOf(inLine) }), {
  minLength: 1,
  maxLength: 3,
})
const linesOp: fc.Arbitrary<Op> = fc.record({
  do: fc.constant('lines' as const),
  lines: fc.array(line, { minLength: 2, maxLength: 3 }),
})
const inNode = opOf('node', 'run')
const programs = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: inNode },
    { weight: 3, arbitrary: loopOf(inNode) },
    { weight: 2, arbitrary: linesOp },
    { weight: 2, arbitrary: loopOf(fc.oneof({ weight: 3, arbitrary: inNode }, { weight: 1, arbitrary: linesOp })) },
  ),
  { minLength: 1, maxLength: 5 },
)

/** One execution of the node. */
class NodeRun {
  readonly #life: Life
  readonly #how: Interruption
  /** The hook that settles each effect: the next one of its line. Filled by every execution, always with the same ids. */
  readonly #settledBy: Map<string, string>
  readonly #uses = new Map<string, number>()

  constructor(life: Life, how: Interruption, settledBy: Map<string, string>) {
    this.#life = life
    this.#how = how
    this.#settledBy = settledBy
  }

  /** `pass` names the passes of the loops around the line, `open` has the effects of the line since its last hook. */
  async line(ops: readonly Op[], path: string, pass: string, open: string[]): Promise<Json> {
    const results: Json[] = []
    let reset = () => {}
    for (const [index, op] of ops.entries()) {
      const opPath = `${path}.${index}`
      if (op.do === 'loop') {
        for (let nth = 0; nth < op.passes; nth++) results.push(await this.line(op.body, opPath, `${pass}/${nth}`, open))
      } else if (op.do === 'lines') {
        results.push(await Promise.all(op.lines.map((ops, nth) => this.line(ops, `${opPath}.${nth}`, pass, []))))
      } else if (op.do === 'guard') reset = this.#guarded(op, opPath, pass, open)
      else results.push(await this.#op(op.do, opPath, open))
      if (op.do === 'reset') reset()
    }
    return results
  }

  #guarded({ by, isShared, also }: Guard, path: string, pass: string, open: string[]): () => void {
    const key = isShared ? path : `${path}${pass}`
    const [isDone, set] = by === 'node' ? useNodeState(false) : useWorkflowState(key, false)
    const effect = `${path}${pass}`
    if (!isDone) {
      this.#life.effects.push(effect)
      open.push(effect)
      if (also === 'shows') useStructuredData({ data: effect })
      if (also === 'appends') {
        // A run that resumes a stopped one cannot count the updates of one object that the log has merged.
        const streamId = `log of ${this.#how === 'killed' ? path : effect}`
        useStructuredData({ kind: 'append', streamId, path: 'rows', items: [effect] })
      }
      if (also === 'counts') useWorkflowState('added', 0)[1]((count = 0) => count + 1)
      set(true)
    }
    return () => set(false)
  }

  async #op(what: 'step' | 'ask' | 'reason' | 'reset' | 'assign' | 'add', path: string, open: string[]): Promise<Json> {
    const { timers, nth } = this.#life
    switch (what) {
      case 'add':
        useWorkflowState('added', 0)[1]((count = 0) => count + 1)
        return null
      case 'assign': {
        const [count, set] = useWorkflowState(`${path} assigned`, 0)
        set(count + 1)
        return null
      }
      case 'ask':
        this.#settle('useInterrupt', path, open)
        return useInterrupt(textInterrupt(`${path}?`, { id: path }))
      case 'reason': {
        this.#settle('useReason', path, open)
        const { text } = await useReason({ id: path, model: scriptedModel(() => ({ text: path })), input: 'Go.' })
        return text
      }
      default: {
        this.#settle('useStep', path, open)
        const ms = ((path.length * 7 + nth * 5) % 13) + 1
        return useStep(path, () => new Promise<string>(resolve => void timers.after(ms, () => resolve(path))))
      }
    }
  }

  #settle(hook: string, id: string, open: string[]): void {
    const name = `${hook}:${encodeURIComponent(id)}`
    const use = (this.#uses.get(name) ?? 0) + 1
    this.#uses.set(name, use)
    for (const effect of open.splice(0)) this.#settledBy.set(effect, `${name}.${use}`)
  }
}

function programOf(ops: readonly Op[], how: Interruption): InterruptedProgram {
  const settledBy = new Map<string, string>()
  const workflow = (life: Life) =>
    single(async () => {
      const results = await new NodeRun(life, how, settledBy).line(ops, 'n', '', [])
      return { data: [results, keysIn(ops, 'n', '').map(key => useWorkflowState<Json>(key)[0] ?? null)] }
    })
  const effectsIn = (entries: readonly Entry[]) => {
    const ids = entries.flatMap(({ chunk }) => (chunk.type === 'hook-completed' ? [chunk.hookId] : []))
    const committed = new Set(ids.map(id => id.slice(id.indexOf('/') + 1)))
    return [...settledBy].flatMap(([effect, hook]) => (committed.has(hook) ? [effect] : []))
  }
  return { workflow, effectsIn }
}

/** The state keys of the run that a program sets. */
function keysIn(ops: readonly Op[], path: string, pass: string): readonly string[] {
  const keys = ops.flatMap((op, index): readonly string[] => {
    const opPath = `${path}.${index}`
    if (op.do === 'loop')
      return Array.from({ length: op.passes }, (_, nth) => keysIn(op.body, opPath, `${pass}/${nth}`)).flat()
    if (op.do === 'lines') return op.lines.flatMap((ops, nth) => keysIn(ops, `${opPath}.${nth}`, pass))
    if (op.do === 'guard') return op.by === 'node' ? [] : [op.isShared ? opPath : `${opPath}${pass}`]
    return op.do === 'assign' ? [`${opPath} assigned`] : []
  })
  return [...new Set(['added', ...keys])]
}

test.each<Interruption>(['killed', 'stopped'])(
  'guarded code in loops happens once before a committed hook, and the state is the same, wherever the run is %s',
  async how => {
    const property = fc.asyncProperty(programs, fc.integer({ min: 1, max: 6 }), async (ops, more) => {
      const program = programOf(ops, how)
      const whole = await playInterrupted(program, Number.POSITIVE_INFINITY, more, how)
      expect(whole.shape).toMatchObject({ run: [{ status: 'completed', message: undefined }] })
      for (let n = 1; ; n++) {
        const cut = await playInterrupted(program, n, more, how)
        expect([n, cut.shape]).toEqual([n, whole.shape])
        expect([n, [...new Set(cut.effects)].sort()]).toEqual([n, [...new Set(whole.effects)].sort()])
        expect([n, cut.repeated]).toEqual([n, []])
        if (!cut.isCut) return
      }
    })
    await fc.assert(property, { numRuns: multiplied(3) })
  },
)
