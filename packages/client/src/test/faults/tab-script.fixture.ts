import type { View } from '@millrace/protocol'
import type { Random } from '../../../../../scripts/faults/random.ts'
import { SessionScript } from '../../../../../scripts/faults/sessions/session-script.fixture.ts'
import type { SendResult } from '../../chat/chat.ts'
import type { HttpChat } from '../../chat/http-chat.ts'
import { RequestError } from '../../error/chat-error.ts'
import { AGENT_NAMES } from './chat-agents.fixture.ts'
import type { TabHarness } from './tab-harness.fixture.ts'

/** What users do in a turn besides sending a message. */
const ACTIONS = ['nothing', 'nothing', 'nothing', 'stop', 'queue', 'interrupt', 'regenerate', 'edit', 'remove'] as const

interface Turn {
  readonly agent: (typeof AGENT_NAMES)[number]
  readonly action: (typeof ACTIONS)[number]
  /** Number of visible changes before the action. */
  readonly after: number
}

const turnsOf = (random: Random): readonly Turn[] =>
  Array.from({ length: random.pick([1, 1, 1, 2, 2, 3]) }, () => ({
    agent: random.pick(AGENT_NAMES),
    action: random.pick(ACTIONS),
    after: random.below(20),
  }))

/** The users of one session. They act in any tab, and see what the first tab shows. */
export class TabScript extends SessionScript<Turn, TabHarness> {
  /** Whether the session was deleted, and another has its name. */
  isRemoved = false
  /** The chat in which each run was started. */
  readonly sentBy = new Map<string, HttpChat>()
  protected runIds = new Set<string>()

  constructor(harness: TabHarness, sessionId: string) {
    super(harness, sessionId, turnsOf(harness.random))
  }

  protected get view(): Pick<View, 'runs' | 'requests' | 'pendings'> {
    const { ledger, pendings } = this.#first.store
    return { runs: ledger.runs, requests: ledger.requests, pendings }
  }

  /** The session in some tab. */
  #anyChat(): HttpChat {
    const { tabs, random } = this.harness
    return random.pick(tabs).chat(this.sessionId)
  }

  get #first(): HttpChat {
    return this.harness.first.chat(this.sessionId)
  }

  protected async answer(answer: Parameters<HttpChat['answer']>[0]): Promise<boolean> {
    try {
      await this.#first.answer(answer)
      return false
    } catch (error) {
      // A stop may have been first.
      this.harness.notes.push(`${this.sessionId}: the answer was refused: ${String(error)}`)
      return error instanceof RequestError && error.retryable
    }
  }

  protected async playTurn({ agent, action, after }: Turn): Promise<void> {
    if (action === 'remove') await this.#remove()
    const from = this.harness.observed
    const runId = await this.#sendUntilAccepted(chat => chat.sendMessage(`Go on, ${agent}.`, { agent }))
    if (runId === undefined) return
    const isDue = () => this.harness.observed >= from + after || this.isEnded(runId)
    switch (action) {
      case 'stop':
        await this.harness.until('there is something to stop', isDue)
        await this.#anyChat().stop({ runId })
        break
      case 'queue':
        return
      case 'interrupt':
        await this.harness.until('there is something to interrupt', isDue)
        await this.#sendUntilAccepted(chat =>
          chat.sendMessage('Rather this.', { agent: 'teller', whenBusy: 'interrupt-previous' }),
        )
        break
      case 'regenerate':
        await this.ended()
        await this.#sendUntilAccepted(chat => chat.regenerate())
        break
      case 'edit': {
        await this.ended()
        const message = this.#first.store.messages.findLast(({ role }) => role === 'user')
        if (message) await this.#sendUntilAccepted(chat => chat.edit(message.id, 'No, otherwise.'))
        break
      }
      default:
    }
    await this.ended()
  }

  /** Sends from a random tab, with retries until the server accepts. Returns the id of the run. */
  async #sendUntilAccepted(action: (chat: HttpChat) => Promise<SendResult>): Promise<string | undefined> {
    const chat = this.#anyChat()
    let result = await action(chat)
    while (result.error) {
      this.harness.notes.push(`${this.sessionId}: ${result.error.code}`)
      if (!result.error.retryable || this.harness.signal.aborted) {
        this.problems.push(`${this.sessionId}: ${result.error.code}: ${result.error.message}`)
        return undefined
      }
      const { messageId } = result
      const isShown = chat.store.message(messageId)?.status === 'error'
      result = await (isShown ? chat.retry(messageId) : action(chat))
    }
    const runId = result.runId as string
    this.runIds.add(runId)
    this.sentBy.set(runId, chat)
    return runId
  }

  /** Deletes the session, and creates another of the same name. */
  async #remove(): Promise<void> {
    await this.ended()
    const { server, notes } = this.harness
    if ((await server.manager.getInfo(this.sessionId)) === null) return
    if (!(await server.manager.deleteStream(this.sessionId))) return
    notes.push(`${this.sessionId}: removed`)
    this.isRemoved = true
    this.runIds = new Set()
    const runId = await this.#sendUntilAccepted(chat => chat.sendMessage('Hello?', { agent: 'teller' }))
    // Tabs that know of the deletion connect again, also those that learn of it later.
    this.harness.recreated.add(this.sessionId)
    for (const { connection } of this.harness.tabs) connection.wake()
    this.harness.notes.push(`${this.sessionId}: created again by ${runId}`)
  }
}
