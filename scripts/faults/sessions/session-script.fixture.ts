import type { View } from '../../../packages/protocol/src/index.ts'
import type { ScheduleHarness } from './schedule-harness.fixture.ts'

/** User actions in one session: they send messages in turn and answer approvals. */
export abstract class SessionScript<Turn, Harness extends ScheduleHarness> {
  readonly sessionId: string
  readonly problems: string[] = []
  protected readonly harness: Harness
  readonly #turns: readonly Turn[]
  readonly #approves: boolean
  readonly #answered = new Set<string>()
  #isOver = false

  constructor(harness: Harness, sessionId: string, turns: readonly Turn[]) {
    this.harness = harness
    this.sessionId = sessionId
    this.#turns = turns
    this.#approves = harness.random.below(3) > 0
    harness.notes.push(`${sessionId}: ${JSON.stringify(turns)}`)
  }

  /** The session as the first client sees it. */
  protected abstract readonly view: Pick<View, 'runs' | 'requests' | 'pendings'>
  /** The runs of the log that now has the session's name. */
  protected abstract readonly runIds: Iterable<string>

  protected abstract playTurn(turn: Turn): Promise<void>

  /** Resolves with true if an answer failed in transit and must be retried. */
  protected abstract answer(answer: { kind: 'approval'; id: string; approved: boolean }): Promise<boolean>

  async play(): Promise<void> {
    await Promise.all([this.#answerAll(), this.#playTurns()])
  }

  async #playTurns(): Promise<void> {
    for (const turn of this.#turns) await this.playTurn(turn)
    await this.ended()
    this.#isOver = true
    this.harness.recheck()
  }

  async #answerAll(): Promise<void> {
    for (;;) {
      const asking = () => this.view.pendings.filter(({ kind, id }) => kind === 'approval' && !this.#answered.has(id))
      await this.harness.until('something asks for an approval', () => this.#isOver || asking().length > 0)
      if (this.#isOver) return
      for (const { id } of asking()) {
        this.#answered.add(id)
        if (await this.answer({ kind: 'approval', id, approved: this.#approves })) this.#answered.delete(id)
      }
    }
  }

  /** Resolves when all runs have ended. */
  protected async ended(): Promise<void> {
    await this.harness.until(`all runs of ${this.sessionId} have ended`, () =>
      [...this.runIds].every(runId => this.isEnded(runId)),
    )
  }

  protected isEnded(runId: string): boolean {
    const { runs, requests } = this.view
    const run = runs.find(each => each.runId === runId)
    if (run) return run.finishedAt !== undefined
    // A run that is stopped before it begins never ends.
    return requests.some(request => request.runId === runId && request.status === 'removed')
  }
}
