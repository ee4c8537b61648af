import type { ServiceName } from './services.ts'

/** Amount of work: `pieces` pieces of `items` items each. */
export interface Load {
  pieces: number
  items: number
}

/**
 * Measured quantity: CPU time of a load; wall time of a load, if another process or a disk does the work; latency per item in ms;
 * bytes per item; or number of occurrences per item (`times`).
 */
export type Unit = 'cpu' | 'wall' | 'latency' | 'bytes' | 'times'

/** A prepared piece of work. Only `run` is measured. `check` throws if its output is wrong. */
export interface Job<Output = unknown> {
  run(): Output | Promise<Output>
  check(output: Output): void | Promise<void>
  /** Figures for the units `latency`, `bytes` and `times`. */
  figures?(output: Output): number[]
  /** Additional information, printed under the table. */
  notes?(output: Output): string[]
}

/** An implementation of the benchmark's work. */
export interface Contender {
  name: string
  /** A floor is the cost of the platform alone. It is shown for comparison. */
  kind: 'ours' | 'peer' | 'floor'
  /** The measured load, and the warm-up load that runs before it in the same process. Both are repeated. */
  load: Load
  warmUp: Load
  /**
   * Prepares piece number `workIndex` with `items` items. The input is deterministic and differs between pieces. Peers are
   * imported here, so that a process loads only its own contender.
   */
  prepare(items: number, workIndex: number): Promise<Job>
}

/** A statement about medians. Without a bound it is informational. `rate` is a ratio of items per second, `speed` is items per second, `tail` is the ratio of the 99th percentiles. */
export type Claim =
  | { kind: 'ratio'; of: string; to: string; atMost?: number }
  | { kind: 'tail'; of: string; to: string; atMost?: number }
  | { kind: 'rate'; of: string; to: string; atLeast?: number }
  | { kind: 'exponent'; small: string; large: string; under?: number }
  | { kind: 'cost'; of: string; atMost?: number }
  | { kind: 'speed'; of: string; atLeast?: number }

/** Contenders that do the same work, and claims about their costs. */
export interface Benchmark {
  name: string
  title: string
  /** Name of the counted item, in the singular. */
  item: string
  /** @default 'cpu' */
  unit?: Unit
  /** Our contender that the ratio column divides by the others. Without it the table has no ratios. */
  reference?: string
  contenders: Contender[]
  claims: Claim[]
  notes?: string[]
  /** Overrides the number of rounds. */
  rounds?: number
  /** Items per contender in the tests. @default that of the suite */
  trial?: number
  /** Services that must run. */
  needs?: readonly ServiceName[]
}

/** Benchmarks of one subject. `quick` omits contenders that take minutes, and a note says so. */
export interface Suite {
  name: string
  benchmarks(quick: boolean): Benchmark[]
  /** Items per contender in the tests. @default 200 */
  trial?: number
}

/** Creates a job and hides the type of its output from the harness. */
export function job<Output>(
  run: () => Output | Promise<Output>,
  check: (output: Output) => void | Promise<void>,
  figures?: (output: Output) => number[],
  notes?: (output: Output) => string[],
): Job {
  return {
    run,
    check: output => check(output as Output),
    ...(figures && { figures: (output: unknown) => figures(output as Output) }),
    ...(notes && { notes: (output: unknown) => notes(output as Output) }),
  }
}
