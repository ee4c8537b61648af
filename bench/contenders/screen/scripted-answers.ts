// Answers of the models of one page, at the same pace, all starting on `begin`.
import { setTimeout } from 'node:timers/promises'
import { emitPaced, numberedDeltas } from '../../fixtures/paced.ts'
import { clock } from '../log/start-child.ts'

/** Number of answers, tokens per answer, ms between two tokens of one answer, and the index of the work, which varies the text. */
export interface AnswerScript {
  readonly answers: number
  readonly tokens: number
  readonly paceMs: number
  readonly workIndex: number
}

/** Tokens of one answer. */
export const tokensOf = ({ tokens, workIndex }: AnswerScript, answer: number): string[] =>
  numberedDeltas(tokens, workIndex * 1000 + answer)

/** Produces the answers of a script by number, and records the time of each token. */
export class ScriptedAnswers {
  readonly producedAt: number[][]
  readonly #script: AnswerScript
  readonly #requested = new Set<number>()
  readonly #allRequested = Promise.withResolvers<void>()
  readonly #begin = Promise.withResolvers<void>()
  readonly #completed = Promise.withResolvers<void>()
  #remaining: number

  constructor(script: AnswerScript) {
    this.#script = script
    this.#remaining = script.answers
    this.producedAt = Array.from({ length: script.answers }, () => [])
  }

  /** Resolves when each answer has been requested. */
  get requested(): Promise<void> {
    return this.#allRequested.promise
  }

  /** Starts all answers. Resolves when all are complete. */
  async begin(): Promise<void> {
    this.#begin.resolve()
    await this.#completed.promise
  }

  /** Produces an answer. Like a remote model, it does not wait for its reader. */
  async produce(answer: number, emit: (token: string) => void): Promise<void> {
    const producedAt = this.producedAt[answer]
    if (!producedAt || this.#requested.has(answer))
      throw new Error(`expected the number of an answer that was not requested yet, found ${answer}`)
    this.#requested.add(answer)
    if (this.#requested.size === this.#script.answers) this.#allRequested.resolve()
    await this.#begin.promise
    const { paceMs, answers } = this.#script
    // Staggers the answers evenly, so that their tokens do not coincide.
    if (answer > 0) await setTimeout((paceMs * answer) / answers)
    await emitPaced({ deltas: tokensOf(this.#script, answer), paceMs }, token => {
      producedAt.push(clock())
      emit(token)
    })
    this.#remaining--
    if (this.#remaining === 0) this.#completed.resolve()
  }
}
