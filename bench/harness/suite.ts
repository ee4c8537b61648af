import type { ServiceName } from './services.ts'

/** How much work: so many pieces, each of so many items. */
export interface Load {
  pieces: number
  items: number
}

/**
 * What is measured: the CPU time of a load; its wall time, where the work is done in another process or by a disk; the latency of each item in
 * milliseconds; the bytes an item takes; or how often something happens for each item.
 */
export type Unit = 'cpu' | 'wall' | 'latency' | 'bytes' | 'times'

/** One piece of work, made ready. Only `run` is measured; `check` throws when what it returned is wrong. */
export interface Job<Output = unknown> {
  run(): Output | Promise<Output>
  check(output: Output): void | Promise<void>
  /** What was measured, where that is no time of the run: the latencies, the bytes an item, or how often something happened for one. */
  figures?(output: Output): number[]
  /** What else is to be said of it, for people. */
  remarks?(output: Output): string[]
}

/** One way to do a benchmark's work. */
export interface Contender {
  name: string
  /** A floor is what the platform alone would cost: to compare with, not to beat. */
  kind: 'ours' | 'peer' | 'floor'
  /** What is measured, and what is run before it in the same process; both as often as it takes. */
  load: Load
  warmUp: Load
  /**
   * Makes ready the piece of that number, of that many items: the same input each time, and another for each piece. Peers are
   * imported here, so that a process holds only its own contender.
   */
  prepare(items: number, piece: number): Promise<Job>
}

/** What is said about the medians; one without a bound is for information. A rate is a ratio of items a second, a speed is items a second, a tail the ratio of what one item in a hundred exceeds. */
export type Claim =
  | { kind: 'ratio'; of: string; to: string; atMost?: number }
  | { kind: 'tail'; of: string; to: string; atMost?: number }
  | { kind: 'rate'; of: string; to: string; atLeast?: number }
  | { kind: 'exponent'; small: string; large: string; under?: number }
  | { kind: 'cost'; of: string; atMost?: number }
  | { kind: 'speed'; of: string; atLeast?: number }

/** Contenders that do the same work, and what their costs should show. */
export interface Benchmark {
  name: string
  title: string
  /** What is counted, in the singular. */
  item: string
  /** CPU time, if nothing is said. */
  unit?: Unit
  /** The contender of ours whose cost stands over the others' in the table; without one the claims alone compare. */
  reference?: string
  contenders: Contender[]
  claims: Claim[]
  notes?: string[]
  /** How many rounds, where not the usual number. */
  rounds?: number
  /** How many items a test tries each contender with, where not as many as the suite says. */
  trial?: number
  /** What must run beside the processes that measure. */
  needs?: readonly ServiceName[]
}

/** The benchmarks of one subject; `quick` leaves out what takes minutes, and says so in a note. */
export interface Suite {
  name: string
  benchmarks(quick: boolean): Benchmark[]
  /** How many items a test tries each contender with, where not 200. */
  trial?: number
}

/** Ties a job's output to its check, so that the rest of the harness need not know its type. */
export function job<Output>(
  run: () => Output | Promise<Output>,
  check: (output: Output) => void | Promise<void>,
  figures?: (output: Output) => number[],
  remarks?: (output: Output) => string[],
): Job {
  return {
    run,
    check: output => check(output as Output),
    ...(figures && { figures: (output: unknown) => figures(output as Output) }),
    ...(remarks && { remarks: (output: unknown) => remarks(output as Output) }),
  }
}
