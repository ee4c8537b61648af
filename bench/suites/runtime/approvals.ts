import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Contender, Unit } from '../../harness/suite.ts'
import { backends, needs } from './places.ts'

const module = () => import('../../contenders/runtime/approvals.ts')

const plain = (backend: Backend): string => `nobody asked, ${backend}`
const asked = (backend: Backend): string => `paused and answered, ${backend}`

/** What a pause and an answer cost: one run at a time by the clock and in CPU time, and many at once. */
export function approvalBenchmarks(quick: boolean): Benchmark[] {
  const rounds = quick ? 1 : 3
  const alone = { width: 1, load: { pieces: 1, items: quick ? 30 : 100 }, rounds }
  const many = { width: 16, load: { pieces: 1, items: quick ? 64 : 256 }, rounds }
  return [
    approved({ name: 'approval', how: 'one at a time', unit: 'wall', ...alone }),
    approved({ name: 'approval-cpu', how: 'one at a time', unit: 'cpu', ...alone }),
    approved({ name: 'approvals', how: 'sixteen at a time', unit: 'wall', ...many }),
  ]
}

interface Approved extends Pick<Benchmark, 'name'> {
  readonly how: string
  readonly unit: Unit
  readonly width: number
  readonly load: Contender['load']
  readonly rounds: number
}

function approved({ name, how, unit, width, load, rounds }: Approved): Benchmark {
  const contender = (named: string, backend: Backend, asks: 'approval' | 'nobody'): Contender => ({
    name: named,
    kind: 'ours',
    load,
    warmUp: load,
    prepare: async (runs, piece) => (await module()).approvedRuns(backend, asks, width, runs, piece),
  })
  return {
    name,
    title: `runs of two steps and one call, ${how}: as they are, and where the call waits for approval`,
    item: 'run',
    unit,
    rounds,
    // More than run at once.
    trial: width + 2,
    contenders: backends.flatMap(backend => [
      contender(plain(backend), backend, 'nobody'),
      contender(asked(backend), backend, 'approval'),
    ]),
    claims: backends.map(backend => ({ kind: 'ratio', of: asked(backend), to: plain(backend) })),
    needs,
    notes: [
      'a run that is asked for approval is read to its pause, answered as soon as it is there, and driven anew to its end',
      ...(unit === 'cpu' ? ['CPU time of the process: what a database does is not in it'] : []),
    ],
  }
}
