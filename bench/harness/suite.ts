/** How much work: so many pieces, each of so many items. */
export interface Load {
  pieces: number
  items: number
}

/** One piece of work, made ready. Only `run` is measured; `check` throws when what it returned is wrong. */
export interface Job<Output = unknown> {
  run(): Output | Promise<Output>
  check(output: Output): void
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

/** What is said about the medians; one without a bound is for information. */
export type Claim =
  | { kind: 'ratio'; of: string; to: string; atMost?: number }
  | { kind: 'exponent'; small: string; large: string; under?: number }
  | { kind: 'cost'; of: string; atMost?: number }

/** Contenders that do the same work, and what their costs should show. */
export interface Benchmark {
  name: string
  title: string
  /** What is counted, in the singular. */
  item: string
  /** The contender of ours whose cost stands over the others' in the table. */
  reference: string
  contenders: Contender[]
  claims: Claim[]
  notes?: string[]
}

/** The benchmarks of one subject; `quick` leaves out what takes minutes, and says so in a note. */
export interface Suite {
  name: string
  benchmarks(quick: boolean): Benchmark[]
}

/** Ties a job's output to its check, so that the rest of the harness need not know its type. */
export function job<Output>(run: () => Output | Promise<Output>, check: (output: Output) => void): Job {
  return { run, check: output => check(output as Output) }
}
