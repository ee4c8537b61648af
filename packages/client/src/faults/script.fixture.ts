// What people do in a session: they say things in one tab or another, answer, stop, take back and say it otherwise.

import type { Random } from '../../../../scripts/faults/random.ts'
import type { SendResult } from '../chat/chat.ts'
import type { HttpChat } from '../chat/http-chat.ts'
import { RequestError } from '../error.ts'
import { NAMES } from './agents.fixture.ts'
import type { Scene } from './scene.fixture.ts'

const DEEDS = ['nothing', 'nothing', 'nothing', 'stop', 'queue', 'interrupt', 'regenerate', 'edit', 'remove'] as const

interface Turn {
  readonly agent: (typeof NAMES)[number]
  readonly deed: (typeof DEEDS)[number]
  /** How many times somebody looks before something is done. */
  readonly after: number
}

const turnsOf = (random: Random): readonly Turn[] =>
  Array.from({ length: random.pick([1, 1, 1, 2, 2, 3]) }, () => ({
    agent: random.pick(NAMES),
    deed: random.pick(DEEDS),
    after: random.below(20),
  }))

export class Script {
  readonly sessionId: string
  readonly problems: string[] = []
  /** Whether another log has taken the place of the one that was there. */
  isRemoved = false
  /** The runs of the log as it is now. */
  runIds = new Set<string>()
  /** In which tab each run was asked for. */
  readonly sentBy = new Map<string, HttpChat>()
  readonly #scene: Scene
  readonly #turns: readonly Turn[]
  readonly #approves: boolean
  readonly #answered = new Set<string>()
  #isOver = false

  constructor(scene: Scene, sessionId: string) {
    this.#scene = scene
    this.sessionId = sessionId
    this.#turns = turnsOf(scene.random)
    this.#approves = scene.random.below(3) > 0
    scene.notes.push(`${sessionId}: ${this.#turns.map(({ agent, deed }) => `${agent}/${deed}`)}`)
  }

  async play(): Promise<void> {
    await Promise.all([this.#answer(), this.#speak()])
  }

  /** The session as somebody who may do something sees it. */
  #anybody(): HttpChat {
    const { tabs, random } = this.#scene
    return random.pick(tabs).chat(this.sessionId)
  }

  /** The session as the one sees it who is there from the start. */
  get #first(): HttpChat {
    return this.#scene.first.chat(this.sessionId)
  }

  async #speak(): Promise<void> {
    for (const turn of this.#turns) await this.#play(turn)
    await this.#ended()
    this.#isOver = true
    this.#scene.look()
  }

  async #answer(): Promise<void> {
    for (;;) {
      const asks = () =>
        this.#first.store.pendings.filter(({ kind, id }) => kind === 'approval' && !this.#answered.has(id))
      await this.#scene.until('something is asked', () => this.#isOver || asks().length > 0)
      if (this.#isOver) return
      for (const { id } of asks()) {
        this.#answered.add(id)
        await this.#first.answer({ kind: 'approval', id, approved: this.#approves }).catch((error: Error) => {
          // A stop may have been first.
          this.#scene.notes.push(`${this.sessionId}: the answer was refused: ${error.message}`)
          // Who is told that the same again may do presses again.
          if (error instanceof RequestError && error.retryable) this.#answered.delete(id)
        })
      }
    }
  }

  async #play({ agent, deed, after }: Turn): Promise<void> {
    if (deed === 'remove') await this.#remove()
    const from = this.#scene.looks
    const runId = await this.#got(chat => chat.send(`Go on, ${agent}.`, { agent }))
    const isTime = () => this.#scene.looks >= from + after || this.#isEnded(runId)
    switch (deed) {
      case 'stop':
        await this.#scene.until('there is something to stop', isTime)
        await this.#anybody().stop({ runId })
        break
      case 'queue':
        return
      case 'interrupt':
        await this.#scene.until('there is something to interrupt', isTime)
        await this.#got(chat => chat.send('Rather this.', { agent: 'teller', whenBusy: 'interrupt-previous' }))
        break
      case 'regenerate':
        await this.#ended()
        await this.#got(chat => chat.regenerate())
        break
      case 'edit': {
        await this.#ended()
        const message = this.#first.store.messages.findLast(({ role }) => role === 'user')
        if (message) await this.#got(chat => chat.edit(message.id, 'No, otherwise.'))
        break
      }
      default:
    }
    await this.#ended()
  }

  /** Does something in some tab, until the server has it. */
  async #got(deed: (chat: HttpChat) => Promise<SendResult>): Promise<string> {
    const chat = this.#anybody()
    let result = await deed(chat)
    while (result.error) {
      this.#scene.notes.push(`${this.sessionId}: ${result.error.code}`)
      if (!result.error.retryable || this.#scene.signal.aborted) {
        this.problems.push(`${this.sessionId}: ${result.error.code}: ${result.error.message}`)
        return ''
      }
      const { messageId } = result
      const isShown = chat.store.message(messageId)?.status === 'error'
      result = await (isShown ? chat.retry(messageId) : deed(chat))
    }
    const runId = result.runId as string
    this.runIds.add(runId)
    this.sentBy.set(runId, chat)
    return runId
  }

  /** The session is removed, and another takes its name. */
  async #remove(): Promise<void> {
    await this.#ended()
    const { house, notes } = this.#scene
    if ((await house.manager.getInfo(this.sessionId)) === null) return
    if (!(await house.manager.deleteStream(this.sessionId))) return
    notes.push(`${this.sessionId}: removed`)
    this.isRemoved = true
    this.runIds = new Set()
    const runId = await this.#got(chat => chat.send('Is anybody there?', { agent: 'teller' }))
    // Who was told that it is gone looks again.
    for (const { connection } of this.#scene.tabs) connection.wake()
    this.#scene.notes.push(`${this.sessionId}: made anew by ${runId}`)
  }

  async #ended(): Promise<void> {
    await this.#scene.until(`${this.sessionId}: all runs have ended`, () =>
      [...this.runIds].every(runId => this.#isEnded(runId)),
    )
  }

  #isEnded(runId: string): boolean {
    if (runId === '') return true
    const { runs, requests } = this.#first.store.ledger
    const run = runs.find(known => known.runId === runId)
    if (run) return run.finishedAt !== undefined
    return requests.some(request => request.runId === runId && request.status === 'removed')
  }
}
