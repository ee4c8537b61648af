import type { Backend } from '../contenders/log/target.ts'
import type { Benchmark, Contender, Suite } from '../harness/suite.ts'
import { answerBenchmarks } from './runtime/answer.ts'
import { approvalBenchmarks } from './runtime/approvals.ts'
import { backends, needs } from './runtime/backends.ts'
import { pausedBenchmark } from './runtime/paused.ts'
import { earlierSubAgentsBenchmark, subAgentsBenchmark } from './runtime/sub-agents.ts'

/** Cost of a run, compared with the model's stream alone. */
export const runtime: Suite = {
  name: 'runtime',
  trial: 16,
  benchmarks: quick => [
    tokens(quick),
    steps(quick),
    runs(quick),
    ...approvalBenchmarks(quick),
    ...answerBenchmarks(quick),
    pausedBenchmark(quick),
    subAgentsBenchmark(quick),
    earlierSubAgentsBenchmark(quick),
  ],
}

const ours = (backend: Backend): string => `ours, ${backend}`

/** One long answer. */
function tokens(quick: boolean): Benchmark {
  const load = { pieces: 1, items: quick ? 5_000 : 20_000 }
  const contender = (name: string, kind: Contender['kind'], prepare: Contender['prepare']): Contender => {
    return { name, kind, load, warmUp: load, prepare }
  }
  const module = () => import('../contenders/runtime/answers.ts')
  return {
    name: 'tokens',
    title: 'one answer of a model that never waits, as fast as it is consumed',
    item: 'token',
    rounds: quick ? 1 : 3,
    contenders: [
      contender('the stream alone', 'floor', async (count, workIndex) =>
        (await module()).streamAlone(count, workIndex),
      ),
      contender('AI SDK streamText', 'peer', async (count, workIndex) =>
        (await module()).streamedText(count, workIndex),
      ),
      ...backends.map(backend =>
        contender(ours(backend), 'ours', async (count, workIndex) =>
          (await module()).answeredRun(backend, count, workIndex),
        ),
      ),
    ],
    claims: backends.map(backend => ({ kind: 'ratio', of: ours(backend), to: 'AI SDK streamText', atMost: 1 })),
    needs,
    notes: [
      'CPU time of the process, without that of the database',
      'ours includes the request, the run with its log, and a reader of the result; the AI SDK stores nothing',
    ],
  }
}

/** Steps one after the other. */
function steps(quick: boolean): Benchmark {
  return stepsBenchmark({
    name: 'steps',
    title: 'one agent at a time, of eight steps, seven of which call a tool',
    item: 'step',
    steps: 8,
    concurrency: 1,
    // Rounds up to complete runs.
    runsOf: items => Math.ceil(items / 8),
    load: { pieces: 1, items: quick ? 80 : 400 },
    rounds: quick ? 1 : 3,
  })
}

/** Many agents at once. */
function runs(quick: boolean): Benchmark {
  return stepsBenchmark({
    name: 'runs',
    title: 'agents of three steps, sixteen at a time, one session each',
    item: 'run',
    steps: 3,
    concurrency: 16,
    runsOf: items => items,
    load: { pieces: 1, items: quick ? 64 : 256 },
    rounds: quick ? 1 : 3,
  })
}

interface StepsBenchmarkOptions extends Pick<Benchmark, 'name' | 'title' | 'item'> {
  readonly steps: number
  readonly concurrency: number
  readonly runsOf: (items: number) => number
  readonly load: Contender['load']
  readonly rounds: number
}

function stepsBenchmark({
  name,
  title,
  item,
  steps,
  concurrency,
  runsOf,
  load,
  rounds,
}: StepsBenchmarkOptions): Benchmark {
  const module = () => import('../contenders/runtime/steps.ts')
  const contender = (contenderName: string, kind: Contender['kind'], prepare: Contender['prepare']): Contender => {
    return { name: contenderName, kind, load, warmUp: load, prepare }
  }
  return {
    name,
    title,
    item,
    unit: 'wall',
    rounds,
    contenders: [
      contender('AI SDK streamText', 'peer', async (items, workIndex) =>
        (await module()).streamedSteps(steps, concurrency, runsOf(items), workIndex),
      ),
      ...backends.map(backend =>
        contender(ours(backend), 'ours', async (items, workIndex) =>
          (await module()).steppedRuns(backend, steps, concurrency, runsOf(items), workIndex),
        ),
      ),
    ],
    claims: backends.map(backend => ({ kind: 'speed', of: ours(backend) })),
    needs,
    notes: ['ours commits every model call and every tool result; the AI SDK stores nothing'],
  }
}
