import type { Json, Pending, ToolPart } from '@millrace/protocol'
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

type ClientPending = Extract<Pending, { kind: 'client-tool' }>

/** What the calls need of the chat. */
export interface Desk {
  /** Answers, as `POST …/answers` takes it; tries until it got there, or is not to. */
  answer(answer: object, signal: AbortSignal): Promise<unknown>
  /** The whole input of a call. */
  inputOf(part: ToolPart, signal: AbortSignal): Promise<Json>
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
    for (const id of [...this.#underWay.keys()]) if (!waiting.has(id)) this.#leave(id)
    for (const call of calls) if (Object.hasOwn(this.tools, call.part.toolName)) this.#begin(call)
  }

  #leave(id: string): void {
    this.#underWay.get(id)?.abort()
    this.#underWay.delete(id)
  }

  /** Leaves everything. */
  close(): void {
    for (const id of [...this.#underWay.keys()]) this.#leave(id)
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
    let isFree = true
    const renew = async () => {
      if (!isFree) return
      isFree = false
      await this.#say({ kind: 'claim', id }, signal).catch(() => {})
      isFree = true
    }
    const renewal = setInterval(renew, CLAIM_MS / 2)
    try {
      const input = await this.#desk.inputOf(part, signal)
      const tool = this.tools[toolName] as (input: Json, context: ClientToolContext) => unknown
      const output = await tool(input, { toolCallId: id, toolName, signal })
      if (!signal.aborted) await this.#say({ kind: 'tool-result', id, output: output ?? null }, signal)
    } catch (error) {
      if (signal.aborted) return
      const message = error instanceof Error ? error.message : String(error)
      await this.#say({ kind: 'tool-result', id, error: message }, signal)
    } finally {
      clearInterval(renewal)
    }
  }

  #say(answer: { readonly kind: string; readonly [field: string]: unknown }, signal: AbortSignal): Promise<unknown> {
    const claim = answer.kind === 'claim' && { client: this.#client, forMs: CLAIM_MS }
    return this.#desk.answer({ ...answer, ...claim }, signal)
  }

  /** Takes a call upon itself, as soon as nobody else has: while another has, the server says to come again. */
  async #claim(id: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#say({ kind: 'claim', id }, signal)
      return !signal.aborted
    } catch {
      return false
    }
  }
}
