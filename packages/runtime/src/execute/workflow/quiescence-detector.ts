import type { Halt } from '../executor.ts'
import type { NodeExecution } from '../replay/execution.ts'

/** Resolves when every branch of a workflow waits for an answer or was handed over to another process. */
export class QuiescenceDetector {
  /** Open executions. */
  readonly #open: ReadonlySet<NodeExecution>
  readonly #halted = Promise.withResolvers<Halt>()
  /** Number of active branches, and how many of them were handed over. */
  #active = 0
  #handedOver = 0
  #changes = 0
  #isClosed = false

  constructor(open: ReadonlySet<NodeExecution>) {
    this.#open = open
  }

  /** Resolves when no branch can continue and everything is committed. */
  get halted(): Promise<Halt> {
    return this.#halted.promise
  }

  /** A branch becomes active. */
  begin(): void {
    this.#active++
  }

  /** A branch ends, or its own branches become active. */
  end(): void {
    this.#active--
    this.check()
  }

  /** A branch is handed over to another process. */
  handOver(): Promise<never> {
    this.#handedOver++
    this.check()
    return new Promise(() => {})
  }

  /** Stops checking. */
  close(): void {
    this.#isClosed = true
  }

  /** Checks in the next iteration of the event loop, unless something changes before. */
  check(): void {
    const changes = ++this.#changes
    setImmediate(() => {
      if (this.#isClosed || changes !== this.#changes) return
      const parked = [...this.#open].filter(({ isParked }) => isParked)
      if (this.#active === 0 || parked.length + this.#handedOver < this.#active) return
      const hooks = parked.flatMap(execution => execution.parked)
      const waits = hooks.filter(hook => hook !== 'handed-over')
      if (this.#handedOver > 0 || waits.length < hooks.length) return this.#halt({ outcome: 'handed-over' }, changes)
      const until = Math.min(...waits.map(wait => wait.until))
      this.#halt({ outcome: 'waiting', on: waits.flatMap(({ on }) => on), until }, changes)
    })
  }

  /** Commits pending records. Resolves unless something changes meanwhile. */
  #halt(halt: Halt, changes: number): void {
    const commits = [...this.#open].map(execution => execution.commitPending())
    Promise.all(commits).then(() => {
      if (changes === this.#changes) this.#halted.resolve(halt)
    }, this.#halted.reject)
  }
}
