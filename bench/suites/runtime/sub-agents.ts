import type { Backend } from '../../contenders/log/target.ts'
import type { Callee } from '../../contenders/runtime/sub-agents.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'
import { needs } from './backends.ts'

/** Backends that do their work in this process, so that CPU time is complete. */
const backends: readonly Backend[] = ['memory', 'sqlite']
const module = () => import('../../contenders/runtime/sub-agents.ts')

/** Cost of parallel sub-agents, by their number. */
export function subAgentsBenchmark(quick: boolean): Benchmark {
  const numbers = [1, 10, 100] as const
  const nameOf = (backend: Backend, callee: Callee, calls: number): string => `${calls} ${callee}s a run, ${backend}`
  const contender = (backend: Backend, callee: Callee, calls: number): Contender => {
    const load = { pieces: 100 / calls, items: calls }
    const prepare: Contender['prepare'] = async count => (await module()).parallelCalls(backend, callee, count)
    return { name: nameOf(backend, callee, calls), kind: 'ours', load, warmUp: load, prepare }
  }
  return {
    name: 'sub-agents',
    title: 'runs of two steps, the first of which calls sub-agents of one step each; and the same with tools',
    item: 'call',
    trial: 10,
    rounds: quick ? 1 : 3,
    contenders: backends.flatMap(backend =>
      (['agent', 'tool'] as const).flatMap(callee => numbers.map(calls => contender(backend, callee, calls))),
    ),
    claims: backends.flatMap(backend => [
      { kind: 'exponent', small: nameOf(backend, 'agent', 10), large: nameOf(backend, 'agent', 100) },
      { kind: 'exponent', small: nameOf(backend, 'tool', 10), large: nameOf(backend, 'tool', 100) },
      { kind: 'ratio', of: nameOf(backend, 'agent', 100), to: nameOf(backend, 'tool', 100) },
    ]),
    needs,
    notes: ['eight at a time; the fixed cost of the run is divided among its calls'],
  }
}

/** Cost of a turn in a session with many earlier sub-agents. */
export function earlierSubAgentsBenchmark(quick: boolean): Benchmark {
  const numbers = quick ? [100, 300] : [100, 1_000, 5_000]
  const nameOf = (callee: Callee, earlier: number): string => `after ${earlier.toLocaleString('en')} ${callee}s`
  const load = { pieces: 1, items: quick ? 5 : 20 }
  const contender = (callee: Callee, earlier: number): Contender => {
    const prepare: Contender['prepare'] = async turns => (await module()).turnsAfter('memory', callee, earlier, turns)
    return { name: nameOf(callee, earlier), kind: 'ours', load, warmUp: load, prepare }
  }
  const [few, many] = [numbers[0] as number, numbers.at(-1) as number]
  return {
    name: 'earlier-sub-agents',
    title: 'a turn with one sub-agent, in a session in memory with many earlier ones; and the same with tools',
    item: 'turn',
    trial: 10,
    rounds: quick ? 1 : 3,
    contenders: (['agent', 'tool'] as const).flatMap(callee => numbers.map(earlier => contender(callee, earlier))),
    claims: (['agent', 'tool'] as const).map(callee => {
      return { kind: 'ratio', of: nameOf(callee, many), to: nameOf(callee, few) }
    }),
    notes: ['the driver of a turn opens the session from its snapshot, which is as large as the session'],
  }
}
