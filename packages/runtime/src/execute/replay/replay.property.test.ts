import type { Entry, Json, View } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import type { NodeContext } from '../../define/node.ts'
import type { Workflow } from '../../define/workflow.ts'
import type { ProcessTimers } from '../../drive/clock.fixture.ts'
import { VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { reportsOf } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { sequence, textInterrupt } from '../workflow/workflow-test-run.fixture.ts'

const SESSION = 's'
const RUN = 'r'
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

/** The state of one process: its steps take their own time and record their effects by idempotency key. */
interface Life {
  readonly timers: ProcessTimers
  readonly nth: number
  readonly effects: string[]
}

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
      const [count, set] = useNodeState(0)
      set(count => (count ?? 0) + 1)
      return count
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

interface Played {
  readonly shape: unknown
  readonly effects: readonly string[]
  readonly isCut: boolean
  /** Steps that ran although the log had their result when an earlier process was killed. */
  readonly repeated: readonly string[]
}

/** How a run is interrupted: its process is killed, or it is stopped and another run resumes it. */
type How = 'killed' | 'stopped'

/** Plays a program that is interrupted after its nth append and again after some more, with immediate answers. */
async function play(nodes: readonly (readonly Doing[])[], n: number, more: number, how: How): Promise<Played> {
  const cluster = new VirtualCluster()
  const effects: string[] = []
  const left = [n, more]
  let isCut = false
  let runId = RUN
  const deaths: { readonly kept: readonly string[]; readonly done: number }[] = []
  const died = async () => deaths.push({ done: effects.length, kept: (await cluster.entries(SESSION)).flatMap(doneIn) })
  const process = () => {
    const nth = 2 - left.length
    const to = left.shift()
    const life = { timers: cluster.clock.timers(), nth, effects }
    const driverProcess = cluster.process(() => [], { workflows: [workflowOf(nodes, life)] })
    let appends = 0
    driverProcess.connection.after = async ({ method }) => {
      if (method !== 'append' || ++appends !== to) return
      isCut = true
      if (how === 'stopped') return void (await apiProcess.runtime.stop(SESSION, runId))
      driverProcess.kill()
      await died()
      process()
    }
  }
  const apiProcess = cluster.process(() => [], { engine: false })
  await apiProcess.runtime.start({ session: SESSION, runId: RUN, workflow: 'workflow:own@1', input: 'Go.' })
  process()
  for (let after = 0; ; ) {
    const isNext = ({ sequence, chunk }: Entry) =>
      sequence > after && (chunk.type === 'interrupt' || chunk.type === 'run-finished')
    const next = await cluster.waitForEntry(SESSION, isNext)
    after = next.sequence
    if (next.chunk.type === 'run-finished') {
      if (next.chunk.status !== 'interrupted') break
      await died()
      const last = runId
      runId = `${RUN}${deaths.length}`
      await cluster.clock.until(apiProcess.runtime.resume(SESSION, last, { runId }))
      continue
    }
    if (next.chunk.type !== 'interrupt') continue
    const { interruptId: id } = next.chunk
    const response = id.slice(id.indexOf('::'))
    // A run that was stopped meanwhile asks again.
    const answer = apiProcess.runtime.answer(SESSION, { kind: 'interrupt', id, response })
    await cluster.clock.until(how === 'stopped' ? answer.catch(() => {}) : answer)
  }
  expect(reportsOf(await cluster.entries(SESSION))).toEqual([])
  const repeated = deaths.flatMap(({ kept, done }) => effects.slice(done).filter(key => kept.includes(key)))
  return { shape: shapeOf(await cluster.view(SESSION)), effects, isCut, repeated }
}

/** The key of a step that an entry completes. */
function doneIn({ chunk }: Entry): string[] {
  if (chunk.type !== 'hook-completed' || chunk.hook !== 'useStep') return []
  const { error } = chunk.result as { readonly error?: unknown }
  return error === undefined ? [`${SESSION}/${RUN}/${encodeURIComponent(chunk.hookId)}`] : []
}

const shapeOf = ({ runs, output, structured, interrupts, pendings, drafts }: View) => ({
  run: runs.slice(-1).map(({ status, error }) => ({ status, code: error?.code, message: error?.message })),
  output,
  structured: structured.map(({ streamId, data }) => [streamId, data]).sort(),
  answered: interrupts.flatMap(({ status, response }) => (status === 'answered' ? [response] : [])).sort(),
  open: [pendings, drafts],
})

test.each<How>(['killed', 'stopped'])(
  'sequential and parallel hooks have the same result, wherever the run is %s',
  async how => {
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(program, fc.integer({ min: 1, max: 9 }), async (nodes, more) => {
        const whole = await play(nodes, Number.POSITIVE_INFINITY, more, how)
        expect(whole.shape).toMatchObject({ run: [{ status: 'completed', message: undefined }] })
        for (let n = 1, isCut = true; isCut; n++) {
          const cut = await play(nodes, n, more, how)
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
