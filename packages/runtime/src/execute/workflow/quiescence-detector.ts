import type { Halt } from '../executor.ts'
import type { NodeExecution } from '../replay/execution.ts'

/** Resolves when every branch of a workflow waits for an answer or was handed over to another process. */
export class QuiescenceDetector {
  /** The executions that are open. */
  readonly #open: ReadonlySet<NodeExecution>
  readonly #halted = Promise.withResolvers<Halt>()
  /** How many lines are at work, and how many of them were left to another process. */
  #lines = 0
  #left = 0
  #changes = 0
  #isOver = false

  constructor(open: ReadonlySet<NodeExecution>) {
    this.#open = open
  }

  /** Resolves once nothing can go on, with all that was said and changed so far in the log. */
  get halted(): Promise<Halt> {
    return this.#halted.promise
  }

  /** A line begins to be at work. */
  begin(): void {
    this.#lines++
  }

  /** A line is not at work any more: it has ended, or its branches are instead. */
  end(): void {
    this.#lines--
    this.check()
  }

  /** A line is left to another process. */
  handOver(): Promise<never> {
    this.#left++
    this.check()
    return new Promise(() => {})
  }

  /** Looks no more. */
  close(): void {
    this.#isOver = true
  }

  /** Looks, once nothing has changed for a moment. */
  check(): void {
    const changes = ++this.#changes
    setImmediate(() => {
      if (this.#isOver || changes !== this.#changes) return
      const parked = [...this.#open].filter(({ isParked }) => isParked)
      if (this.#lines === 0 || parked.length + this.#left < this.#lines) return
      const all = parked.flatMap(execution => execution.parked)
      const waits = all.filter(one => one !== 'handed-over')
      if (this.#left > 0 || waits.length < all.length) return this.#halt({ outcome: 'handed-over' }, changes)
      const until = Math.min(...waits.map(one => one.until))
      this.#halt({ outcome: 'waiting', on: waits.flatMap(({ on }) => on), until }, changes)
    })
  }

  /** Keeps what no commit holds yet; unless something goes on meanwhile, that is it. */
  #halt(halt: Halt, changes: number): void {
    const commits = [...this.#open].map(execution => execution.commitPending())
    Promise.all(commits).then(() => {
      if (changes === this.#changes) this.#halted.resolve(halt)
    }, this.#halted.reject)
  }
}
