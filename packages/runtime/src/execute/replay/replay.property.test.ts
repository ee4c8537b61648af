import type { Entry, Json } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import type { NodeContext } from '../../define/node.ts'
import type { Workflow } from '../../define/workflow.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { sequence, textInterrupt } from '../workflow/workflow-test-run.fixture.ts'
import {
  type InterruptedProgram,
  type Interruption,
  type Life,
  playInterrupted,
  RUN,
  SESSION,
} from './interrupted-run.fixture.ts'

const RUNS = multiplied(6)

/** The work of a node: hooks in sequence or in parallel. */
type Doing =
  | { readonly do: 'step' | 'fail' | 'ask' | 'again'; readonly ms: number }
  | { readonly do: 'count' | 'list' | 'own' | 'show' | 'plain' }
  | { readonly all: readonly Doing[] }
  | { readonly row: readonly Doing[] }

const leaf: fc.Arbitrary<Doing> = fc.oneof(
  {
    arbitrary: fc.record({ do: fc.constantFrom('step', 'step', 'step', 'fail', 'ask', 'again'), ms: fc.nat(30) }),
    weight: 3,
  },
  { arbitrary: fc.record({ do: fc.constantFrom('count', 'list', 'list', 'show') }), weight: 1 },
)
const { doing } = fc.letrec<{ doing: Doing }>(tie => ({
  doing: fc.oneof(
    { depthSize: 'small', maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.record({ all: fc.array(tie('doing'), { minLength: 2, maxLength: 4 }) }),
    fc.record({ row: fc.array(tie('doing'), { minLength: 1, maxLength: 3 }) }),
  ),
}))
/** Hooks without ids must not run in parallel. */
const alone = fc.constantFrom<Doing>({ do: 'plain' }, { do: 'own' })
const parts = fc.array(fc.oneof({ arbitrary: doing, weight: 4 }, alone), { minLength: 1, maxLength: 4 })
const program = fc.array(parts, { minLength: 1, maxLength: 2 })

function workflowOf(nodes: readonly (readonly Doing[])[], life: Life): Workflow {
  const nodeEntries = nodes.map((parts, index) => [
    `n${index}`,
    async ({ input }: NodeContext<Json>) => ({ data: [input, await row(parts, `p${index}`, life)] }),
  ])
  // The order depends on timing; that each is there once does not.
  const last = ({ input }: NodeContext<Json>) => ({
    data: [input, useWorkflowState<string[]>('list', [])[0].toSorted()],
  })
  return sequence({ ...Object.fromEntries(nodeEntries), last })
}

async function row(parts: readonly Doing[], path: string, life: Life): Promise<Json> {
  const results: Json[] = []
  for (const [index, part] of parts.entries()) results.push(await act(part, `${path}${index}`, life))
  return results
}

async function act(part: Doing, path: string, life: Life): Promise<Json> {
  if ('all' in part) return Promise.all(part.all.map((one, index) => act(one, `${path}_${index}.`, life)))
  if ('row' in part) return row(part.row, `${path}.`, life)
  const { timers, nth, effects } = life
  switch (part.do) {
    case 'count': {
      const [, set] = useWorkflowState<number>('count', 0)
      set(count => (count ?? 0) + 1)
      return 'counted'
    }
    case 'list': {
      const [, set] = useWorkflowState<string[]>('list', [])
      set(list => [...(list ?? []), path])
      return 'listed'
    }
    case 'own': {
      const [, set] = useNodeState(0)
      set(count => (count ?? 0) + 1)
      return 'counted'
    }
    case 'show':
      useStructuredData({ kind: 'append', streamId: `${path}.list`, path: 'items', items: [path] })
      return 'shown'
    case 'plain':
      return useInterrupt(textInterrupt(path))
    case 'ask':
      return useInterrupt(textInterrupt(path, { id: path }))
    default: {
      const id = part.do === 'again' ? `same ${path.slice(0, path.lastIndexOf('_') + 2)}` : path
      const done = useStep(id, async ({ idempotencyKey }) => {
        effects.push(idempotencyKey)
        await new Promise<void>(resolve => void timers.after((part.ms * (nth * 7 + 1)) % 31, resolve))
        if (part.do === 'fail') throw new Error('no')
        return path
      })
      return part.do === 'fail' ? done.catch(() => 'failed') : done
    }
  }
}

const programOf = (nodes: readonly (readonly Doing[])[]): InterruptedProgram => ({
  workflow: life => workflowOf(nodes, life),
  effectsIn: entries => entries.flatMap(doneIn),
})

/** The key of a step that an entry completes. */
function doneIn({ chunk }: Entry): string[] {
  if (chunk.type !== 'hook-completed' || chunk.hook !== 'useStep') return []
  const { error } = chunk.result as { readonly error?: unknown }
  return error === undefined ? [`${SESSION}/${RUN}/${encodeURIComponent(chunk.hookId)}`] : []
}

test.each<Interruption>(['killed', 'stopped'])(
  'sequential and parallel hooks have the same result, wherever the run is %s',
  async how => {
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(program, fc.integer({ min: 1, max: 9 }), async (nodes, more) => {
        const whole = await playInterrupted(programOf(nodes), Number.POSITIVE_INFINITY, more, how)
        expect(whole.shape).toMatchObject({ run: [{ status: 'completed', message: undefined }] })
        for (let n = 1, isCut = true; isCut; n++) {
          const cut = await playInterrupted(programOf(nodes), n, more, how)
          isCut = cut.isCut
          cuts += Number(isCut)
          expect([n, cut.shape]).toEqual([n, whole.shape])
          expect([n, [...new Set(cut.effects)].sort()]).toEqual([n, [...new Set(whole.effects)].sort()])
          expect([n, cut.repeated]).toEqual([n, []])
        }
      }),
      { numRuns: RUNS },
    )
    expect(cuts).toBeGreaterThan(RUNS)
  },
)
