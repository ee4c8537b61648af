// What the models of one page say: each answer at the same pace, all from the moment on at which they are told to.
import { setTimeout } from 'node:timers/promises'
import { numbered, pace } from '../../fixtures/paced.ts'
import { clock } from '../log/start-child.ts'

/** How many answers, of how many tokens each, and the milliseconds between two tokens of one. */
export interface AnswerScript {
  readonly answers: number
  readonly tokens: number
  readonly paceMs: number
  readonly piece: number
}

/** The tokens of one of the answers. */
export const tokensOf = ({ tokens, piece }: AnswerScript, answer: number): string[] =>
  numbered(tokens, piece * 1000 + answer)

/** The answers that are asked for by their numbers, and when each of their tokens was said. */
export class ScriptedAnswers {
  readonly said: number[][]
  readonly #spoken: AnswerScript
  readonly #asked = new Set<number>()
  readonly #isAsked = Promise.withResolvers<void>()
  readonly #begin = Promise.withResolvers<void>()
  readonly #isOver = Promise.withResolvers<void>()
  #left: number

  constructor(spoken: AnswerScript) {
    this.#spoken = spoken
    this.#left = spoken.answers
    this.said = Array.from({ length: spoken.answers }, () => [])
  }

  /** Until each answer was asked for. */
  get asked(): Promise<void> {
    return this.#isAsked.promise
  }

  /** Begins all answers, and is done when all was said. */
  async begin(): Promise<void> {
    this.#begin.resolve()
    await this.#isOver.promise
  }

  /** Says an answer: it takes no regard of how fast it is read, as a model at the other end of a network does not. */
  async speak(answer: number, say: (token: string) => void): Promise<void> {
    const said = this.said[answer]
    if (!said || this.#asked.has(answer)) throw new Error(`the answer ${answer} was not to be asked for`)
    this.#asked.add(answer)
    if (this.#asked.size === this.#spoken.answers) this.#isAsked.resolve()
    await this.#begin.promise
    const { paceMs, answers } = this.#spoken
    // Models know nothing of each other: their tokens come evenly, and not all at the same time.
    if (answer > 0) await setTimeout((paceMs * answer) / answers)
    await pace({ deltas: tokensOf(this.#spoken, answer), paceMs }, token => {
      said.push(clock())
      say(token)
    })
    this.#left--
    if (this.#left === 0) this.#isOver.resolve()
  }
}
