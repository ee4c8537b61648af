// What people do in a session: they start runs, one after another or in a row, answer what is asked, stop, take back and say it otherwise.

import type { View } from '@millrace/protocol'
import type { Random } from '../../../../scripts/faults/random.ts'
import { NAMES } from './agents.fixture.ts'
import { type Answered, insist } from './http.fixture.ts'
import type { Scene } from './scene.fixture.ts'
import type { Sight } from './sight.fixture.ts'

/** What is done in a turn, beside saying something. */
const DEEDS = [
  'nothing',
  'nothing',
  'nothing',
  'stop',
  'abort',
  'queue',
  'interrupt',
  'retry',
  'edit',
  'again',
] as const

interface Turn {
  readonly agent: (typeof NAMES)[number]
  readonly input: string
  readonly accept: 'json' | 'sse' | 'ndjson'
  readonly deed: (typeof DEEDS)[number]
  /** How many entries of it are seen before something is done. */
  readonly after: number
}

function turnsOf(random: Random): readonly Turn[] {
  return Array.from({ length: random.pick([1, 1, 2, 3]) }, () => ({
    agent: random.pick(NAMES),
    input: 'Go on. '.repeat(random.between(1, 3)).trim(),
    accept: random.pick(['json', 'json', 'sse', 'ndjson']),
    deed: random.pick(DEEDS),
    after: random.below(30),
  }))
}

/** The people in one session, as far as they see by the first follower. */
export class Script {
  readonly #scene: Scene
  readonly #sight: Sight
  readonly #turns: readonly Turn[]
  readonly #answered = new Set<string>()
  readonly #approves: boolean
  /** The runs that were asked for, of the log as it is now. */
  runIds: string[] = []
  readonly problems: string[] = []
  #n = 0
  #isOver = false

  constructor(scene: Scene, sight: Sight) {
    this.#scene = scene
    this.#sight = sight
    this.#turns = turnsOf(scene.random)
    this.#approves = scene.random.below(3) > 0
    scene.notes.push(
      `${sight.sessionId}: ${this.#turns.map(({ agent, deed, accept }) => `${agent}/${accept}/${deed}`)}`,
    )
  }

  async play(): Promise<void> {
    await Promise.all([this.#answer(), this.#speak()])
  }

  async #speak(): Promise<void> {
    for (const turn of this.#turns) await this.#play(turn)
    await this.#ended()
    this.#isOver = true
    this.#scene.look()
  }

  /** Answers what is asked, whenever it is. */
  async #answer(): Promise<void> {
    for (;;) {
      const asks = () => this.#asks(this.#sight.view)
      await this.#scene.until('something is asked', () => this.#isOver || asks().length > 0)
      if (this.#isOver) return
      for (const id of asks()) {
        this.#answered.add(id)
        await this.#post('answers', { kind: 'approval', id, approved: this.#approves })
      }
    }
  }

  async #play({ agent, input, accept, deed, after }: Turn): Promise<void> {
    const { sessionId } = this.#sight
    if (deed === 'again') await this.#beginAgain()
    const from = this.#sight.count
    const runId = await this.#start({ agent, input, messageId: this.#name('m'), whenBusy: 'queue' }, accept)
    switch (deed) {
      case 'stop':
      case 'abort':
        await this.#scene.until(
          'there is something to stop',
          () => this.#sight.count >= from + after || this.#isEnded(runId),
        )
        await this.#post('stop', { runId, mode: deed === 'stop' ? 'interrupt' : 'abort' })
        break
      case 'queue':
        // The next is asked for while this one goes on.
        return
      case 'interrupt':
        await this.#scene.until(
          'there is something to interrupt',
          () => this.#sight.count >= from + after || this.#isEnded(runId),
        )
        await this.#start(
          { agent: 'teller', input, messageId: this.#name('m'), whenBusy: 'interrupt-previous' },
          'json',
        )
        break
      case 'retry':
        await this.#ended()
        await this.#post('retry', { runId: this.#asked() })
        break
      case 'edit': {
        await this.#ended()
        const message = this.#sight.view.messages.findLast(({ role }) => role === 'user')
        if (message === undefined) break
        await this.#post('edit', { messageId: message.id, input: 'No, otherwise.', runId: this.#asked() })
        break
      }
      default:
    }
    await this.#ended()
    this.#scene.notes.push(`${sessionId}: ${runId} and all before it have ended`)
  }

  /** The session is removed, and another takes its name. */
  async #beginAgain(): Promise<void> {
    await this.#ended()
    const { sessionId } = this.#sight
    const { house, runReaders } = this.#scene
    const { manager } = house
    // Else one that is asked for again would be a run of the log that comes after.
    const own = runReaders.filter(reader => reader.sessionId === sessionId)
    await this.#scene.until('all know that they asked', () => own.every(({ isAsked }) => isAsked))
    if ((await manager.getInfo(sessionId)) === null) return
    await insist(house.port, { method: 'DELETE', path: `/sessions/${sessionId}` }, this.#scene.signal)
    this.#scene.notes.push(`${sessionId}: removed at ${this.#sight.position}`)
    this.runIds = []
  }

  async #start(body: Readonly<Record<string, unknown>>, accept: Turn['accept']): Promise<string> {
    const runId = this.#asked()
    const { sessionId } = this.#sight
    if (accept === 'json') await this.#post('runs', { ...body, runId })
    else {
      await this.#scene.startAndFollow(sessionId, runId, accept, body)
      await this.#scene.until(`${runId} was asked for`, () => this.#isKnown(runId))
    }
    return runId
  }

  async #post(verb: string, body: Readonly<Record<string, unknown>>): Promise<Answered> {
    const { house, signal } = this.#scene
    const asked = { method: 'POST', path: `/sessions/${this.#sight.sessionId}/${verb}`, body } as const
    const answered = await insist(house.port, asked, signal)
    if (answered.status >= 400 && !(verb === 'answers' && answered.status === 409)) {
      this.problems.push(`${this.#sight.sessionId}: ${verb}: ${answered.status} ${JSON.stringify(answered.body)}`)
    }
    return answered
  }

  /** Waits until all runs that were asked for have ended. */
  async #ended(): Promise<void> {
    await this.#scene.until('all runs have ended', () => this.runIds.every(runId => this.#isEnded(runId)))
  }

  /** What waits for an answer, and has none from here. */
  #asks({ pendings }: View): readonly string[] {
    return pendings.flatMap(pending =>
      pending.kind === 'approval' && !this.#answered.has(pending.id) ? [pending.id] : [],
    )
  }

  #isKnown(runId: string): boolean {
    const { runs, requests } = this.#sight.view
    return runs.some(run => run.runId === runId) || requests.some(request => request.runId === runId)
  }

  #isEnded(runId: string): boolean {
    const { runs, requests } = this.#sight.view
    const run = runs.find(known => known.runId === runId)
    if (run) return run.status !== 'running' && run.status !== 'paused'
    // One that was stopped before it began never ends.
    return requests.some(request => request.runId === runId && request.status === 'removed')
  }

  #asked(): string {
    const runId = this.#name('r')
    this.runIds.push(runId)
    return runId
  }

  #name(kind: string): string {
    return `${kind}${++this.#n}-${this.#sight.sessionId}`
  }
}
