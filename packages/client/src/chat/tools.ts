import type { Json, Pending, ToolPart } from '@millrace/protocol'
import { failureOf } from '../error.ts'
import { newId } from '../id.ts'

/** What a client's tool is given beside its input. */
export interface ClientToolContext {
  readonly toolCallId: string
  readonly toolName: string
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal
}

/** Runs a call of a client's tool; what it throws goes to the model as an error. */
export type ClientTool = (input: never, context: ClientToolContext) => unknown

export type ClientTools = { readonly [name: string]: ClientTool }

/** For how long a call is taken upon oneself at a time, in milliseconds: when a tab goes away, another takes its place after that. */
const CLAIM_MS = 20_000
/** How long it is waited for another tab at least before it is looked again. */
const LOOK_MS = 1000

type ClientPending = Extract<Pending, { kind: 'client-tool' }>

/** What the calls need of the chat. */
export interface Desk {
  /** Answers, as `POST …/answers` takes it. */
  answer(answer: object): Promise<unknown>
  /** The whole input of a call. */
  inputOf(part: ToolPart): Promise<Json>
}

/** Runs the calls of a client's tools: each in one tab only, since a tab takes it upon itself first. */
export class ToolCalls {
  tools: ClientTools = {}
  readonly #desk: Desk
  readonly #client: string = newId()
  readonly #underWay = new Map<string, AbortController>()

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** Begins with what waits, and leaves what does not wait any more. */
  look(pendings: readonly Pending[]): void {
    const calls = pendings.filter((pending): pending is ClientPending => pending.kind === 'client-tool')
    const waiting = new Set(calls.map(({ id }) => id))
    for (const [id, { abort }] of [...this.#underWay]) if (!waiting.has(id)) this.#leave(id, abort)
    for (const call of calls) if (Object.hasOwn(this.tools, call.part.toolName)) this.#begin(call)
  }

  #leave(id: string, abort: () => void): void {
    this.#underWay.delete(id)
    abort()
  }

  /** Leaves everything. */
  close(): void {
    for (const [id] of [...this.#underWay]) this.#underWay.get(id)?.abort()
    this.#underWay.clear()
  }

  #begin(call: ClientPending): void {
    if (this.#underWay.has(call.id)) return
    const control = new AbortController()
    this.#underWay.set(call.id, control)
    this.#do(call, control.signal)
      .catch(() => {})
      .finally(() => {
        if (this.#underWay.get(call.id) === control) this.#underWay.delete(call.id)
      })
  }

  async #do({ id, part }: ClientPending, signal: AbortSignal): Promise<void> {
    const { toolName } = part
    if (!(await this.#claim(id, signal))) return
    const renewal = setInterval(() => this.#say({ kind: 'claim', id }).catch(() => {}), CLAIM_MS / 2)
    try {
      const input = await this.#desk.inputOf(part)
      const tool = this.tools[toolName] as (input: Json, context: ClientToolContext) => unknown
      const output = await tool(input, { toolCallId: id, toolName, signal })
      if (!signal.aborted) await this.#say({ kind: 'tool-result', id, output: output ?? null })
    } catch (error) {
      if (signal.aborted) return
      await this.#say({ kind: 'tool-result', id, error: error instanceof Error ? error.message : String(error) })
    } finally {
      clearInterval(renewal)
    }
  }

  #say(answer: { readonly kind: string; readonly id: string; readonly [field: string]: unknown }): Promise<unknown> {
    return this.#desk.answer(answer.kind === 'claim' ? { ...answer, client: this.#client, forMs: CLAIM_MS } : answer)
  }

  /** Takes a call upon itself, as soon as nobody else has. */
  async #claim(id: string, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        await this.#say({ kind: 'claim', id })
        return !signal.aborted
      } catch (error) {
        if (failureOf(error).code !== 'answer_claimed') return false
      }
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, LOOK_MS + Math.random() * LOOK_MS)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    return false
  }
}
