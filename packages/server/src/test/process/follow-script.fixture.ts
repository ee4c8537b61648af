import type { View } from '@millrace/protocol'
import type { Random } from '../../../../../scripts/faults/random.ts'
import { SessionScript } from '../../../../../scripts/faults/sessions/session-script.fixture.ts'
import type { FollowHarness } from './follow-harness.fixture.ts'
import { NAMES } from './followed-agents.fixture.ts'
import type { SessionReplica } from './session-replica.fixture.ts'
import { type ReceivedResponse, sendUntilAnswered } from './single-request.fixture.ts'

/** Actions of users in a turn besides sending a message. */
const TURN_ACTIONS = [
  'nothing',
  'nothing',
  'nothing',
  'stop',
  'abort',
  'queue',
  'interrupt',
  'retry',
  'edit',
  'recreate',
] as const

interface Turn {
  readonly agent: (typeof NAMES)[number]
  readonly input: string
  readonly accept: 'json' | 'sse' | 'ndjson'
  readonly action: (typeof TURN_ACTIONS)[number]
  /** Number of entries after which the action happens. */
  readonly after: number
}

function turnsOf(random: Random): readonly Turn[] {
  return Array.from({ length: random.pick([1, 1, 2, 3]) }, () => ({
    agent: random.pick(NAMES),
    input: 'Go on. '.repeat(random.between(1, 3)).trim(),
    accept: random.pick(['json', 'json', 'sse', 'ndjson']),
    action: random.pick(TURN_ACTIONS),
    after: random.below(30),
  }))
}

/** The users of one session. They see what the first follower sees. */
export class FollowScript extends SessionScript<Turn, FollowHarness> {
  protected runIds: string[] = []
  readonly #replica: SessionReplica
  #idCount = 0

  constructor(harness: FollowHarness, replica: SessionReplica) {
    super(harness, replica.sessionId, turnsOf(harness.random))
    this.#replica = replica
  }

  protected get view(): View {
    return this.#replica.view
  }

  protected async answer(answer: Readonly<Record<string, unknown>>): Promise<boolean> {
    await this.#post('answers', answer)
    return false
  }

  protected async playTurn({ agent, input, accept, action, after }: Turn): Promise<void> {
    if (action === 'recreate') await this.#deleteSession()
    const from = this.#replica.count
    const runId = await this.#start({ agent, input, messageId: this.#newId('m'), whenBusy: 'queue' }, accept)
    switch (action) {
      case 'stop':
      case 'abort':
        await this.harness.until(
          'there is something to stop',
          () => this.#replica.count >= from + after || this.isEnded(runId),
        )
        await this.#post('stop', { runId, mode: action === 'stop' ? 'interrupt' : 'abort' })
        break
      case 'queue':
        // The next turn begins while this run continues.
        return
      case 'interrupt':
        await this.harness.until(
          'there is something to interrupt',
          () => this.#replica.count >= from + after || this.isEnded(runId),
        )
        await this.#start(
          { agent: 'teller', input, messageId: this.#newId('m'), whenBusy: 'interrupt-previous' },
          'json',
        )
        break
      case 'retry':
        await this.ended()
        await this.#post('retry', { runId: this.#newRunId() })
        break
      case 'edit': {
        await this.ended()
        const message = this.view.messages.findLast(({ role }) => role === 'user')
        if (message === undefined) break
        await this.#post('edit', { messageId: message.id, input: 'No, otherwise.', runId: this.#newRunId() })
        break
      }
      default:
    }
    await this.ended()
    this.harness.notes.push(`${this.sessionId}: ${runId} and all before it have ended`)
  }

  /** Deletes the session. The next turn creates another one with the same id. */
  async #deleteSession(): Promise<void> {
    await this.ended()
    const { harness, sessionId } = this
    const { server, runReaders } = harness
    // A request that is still repeated would start its run in the new session.
    const sessionReaders = runReaders.filter(reader => reader.sessionId === sessionId)
    await harness.until('all requests for runs are answered', () =>
      sessionReaders.every(({ isRequested }) => isRequested),
    )
    if ((await server.manager.getInfo(sessionId)) === null) return
    await sendUntilAnswered(server.port, { method: 'DELETE', path: `/sessions/${sessionId}` }, harness.signal)
    harness.notes.push(`${sessionId}: removed at ${this.#replica.position}`)
    this.runIds = []
  }

  async #start(body: Readonly<Record<string, unknown>>, accept: Turn['accept']): Promise<string> {
    const runId = this.#newRunId()
    if (accept === 'json') await this.#post('runs', { ...body, runId })
    else {
      await this.harness.startAndFollow(this.sessionId, runId, accept, body)
      await this.harness.until(`${runId} is known`, () => this.#isKnown(runId))
    }
    return runId
  }

  async #post(verb: string, body: Readonly<Record<string, unknown>>): Promise<ReceivedResponse> {
    const { server, signal } = this.harness
    const request = { method: 'POST', path: `/sessions/${this.sessionId}/${verb}`, body } as const
    const response = await sendUntilAnswered(server.port, request, signal)
    if (response.status >= 400 && !(verb === 'answers' && response.status === 409)) {
      this.problems.push(`${this.sessionId}: ${verb}: ${response.status} ${JSON.stringify(response.body)}`)
    }
    return response
  }

  #isKnown(runId: string): boolean {
    const { runs, requests } = this.view
    return runs.some(run => run.runId === runId) || requests.some(request => request.runId === runId)
  }

  #newRunId(): string {
    const runId = this.#newId('r')
    this.runIds.push(runId)
    return runId
  }

  #newId(kind: string): string {
    return `${kind}${++this.#idCount}-${this.sessionId}`
  }
}
