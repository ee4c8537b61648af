import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Contender, Unit } from '../../harness/suite.ts'
import { backends, needs } from './backends.ts'

const module = () => import('../../contenders/runtime/approvals.ts')

const plain = (backend: Backend): string => `no approval, ${backend}`
const benchmarkName = (backend: Backend): string => `paused and answered, ${backend}`

/** Cost of a pause and an answer: one run at a time in wall and CPU time, and many at once. */
export function approvalBenchmarks(quick: boolean): Benchmark[] {
  const rounds = quick ? 1 : 3
  const alone = { concurrency: 1, load: { pieces: 1, items: quick ? 30 : 100 }, rounds }
  const many = { concurrency: 16, load: { pieces: 1, items: quick ? 64 : 256 }, rounds }
  return [
    approvalBenchmark({ name: 'approval', pace: 'one at a time', unit: 'wall', ...alone }),
    approvalBenchmark({ name: 'approval-cpu', pace: 'one at a time', unit: 'cpu', ...alone }),
    approvalBenchmark({ name: 'approvals', pace: 'sixteen at a time', unit: 'wall', ...many }),
  ]
}

interface ApprovalBenchmarkOptions extends Pick<Benchmark, 'name'> {
  /** Description of the concurrency in the title. */
  readonly pace: string
  readonly unit: Unit
  readonly concurrency: number
  readonly load: Contender['load']
  readonly rounds: number
}

function approvalBenchmark({ name, pace, unit, concurrency, load, rounds }: ApprovalBenchmarkOptions): Benchmark {
  const contender = (named: string, backend: Backend, asks: 'approval' | 'nothing'): Contender => ({
    name: named,
    kind: 'ours',
    load,
    warmUp: load,
    prepare: async (runs, workIndex) => (await module()).approvedRuns(backend, asks, concurrency, runs, workIndex),
  })
  return {
    name,
    title: `runs of two steps and one call, ${pace}: without and with approval of the call`,
    item: 'run',
    unit,
    rounds,
    // More runs than execute at once.
    trial: concurrency + 2,
    contenders: backends.flatMap(backend => [
      contender(plain(backend), backend, 'nothing'),
      contender(benchmarkName(backend), backend, 'approval'),
    ]),
    claims: backends.map(backend => ({ kind: 'ratio', of: benchmarkName(backend), to: plain(backend) })),
    needs,
    notes: [
      'a run with approval is read to its pause, answered at once, and driven again to its end',
      ...(unit === 'cpu' ? ['CPU time of the process, without that of the database'] : []),
    ],
  }
}
