import { newId } from '@millrace/dialects'
import type { Json, Pending, ToolPart } from '@millrace/protocol'
import { failureOf } from '../error/chat-error.ts'
import type { ClientToolContext, ClientTools } from '../types/index.ts'
import { CONFLICT } from './session-api.ts'

/** For how long a call is taken upon oneself at a time, in milliseconds: when a tab goes away, another takes its place after that. */
const CLAIM_MS = 20_000
/** So much of an error the server takes. */
const LONGEST_ERROR = 8192

type ClientPending = Extract<Pending, { kind: 'client-tool' }>

/** What the calls need of the chat. */
export interface ToolCallsApi {
  /** Answers, as `POST …/answers` takes it; tries until it got there, or is not to. */
  answer(answer: object, signal: AbortSignal): Promise<unknown>
  /** The whole input of a call. */
  inputOf(part: ToolPart, signal: AbortSignal): Promise<Json>
}

/** What came of a call; nothing, where it was left. */
type ToolResult = { readonly output: unknown } | { readonly error: string } | undefined

interface ToolExecution {
  readonly control: AbortController
  /** What the tool comes to, once it was run: that a tab comes back is no reason to run it again. */
  result?: Promise<ToolResult> | undefined
}

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_ERROR)

/** Runs the calls of a client's tools: each in one tab only, since a tab takes it upon itself first, and there once. */
export class ToolCalls {
  tools: ClientTools = {}
  readonly #desk: ToolCallsApi
  readonly #report: (error: unknown, toolCallId: string) => void
  readonly #client: string = newId()
  /** What was begun with, for as long as it waits, whatever came of it. */
  readonly #begun = new Map<string, ToolExecution>()

  constructor(desk: ToolCallsApi, report: (error: unknown, toolCallId: string) => void) {
    this.#desk = desk
    this.#report = report
  }

  /** Begins with what waits, and leaves what does not wait any more. */
  look(pendings: readonly Pending[]): void {
    const calls = pendings.filter((pending): pending is ClientPending => pending.kind === 'client-tool')
    const waiting = new Set(calls.map(({ id }) => id))
    for (const [id, { control }] of this.#begun) {
      if (waiting.has(id)) continue
      control.abort()
      this.#begun.delete(id)
    }
    for (const call of calls) if (Object.hasOwn(this.tools, call.part.toolName)) this.#begin(call)
  }

  /** Leaves everything. */
  close(): void {
    for (const { control } of this.#begun.values()) control.abort()
  }

  #begin(call: ClientPending): void {
    const { id } = call
    const before = this.#begun.get(id)
    if (before && !before.control.signal.aborted) return
    const doing: ToolExecution = { control: new AbortController(), result: before?.result }
    this.#begun.set(id, doing)
    this.#do(call, doing).catch(error => {
      // Where somebody was first, or it is too late, the log says so.
      if (!doing.control.signal.aborted && failureOf(error).status !== CONFLICT) this.#report(error, id)
    })
  }

  async #do(call: ClientPending, doing: ToolExecution): Promise<void> {
    const { id } = call
    const { signal } = doing.control
    // While another has taken it upon itself, the server says to come again.
    const claim = () => this.#desk.answer({ kind: 'claim', id, client: this.#client, forMs: CLAIM_MS }, signal)
    await claim()
    let isFree = true
    const renew = async () => {
      if (!isFree) return
      isFree = false
      await claim().catch(() => {})
      isFree = true
    }
    const renewal = setInterval(renew, CLAIM_MS / 2)
    const leave = () => clearInterval(renewal)
    signal.addEventListener('abort', leave)
    try {
      while (!signal.aborted) {
        doing.result ??= this.#run(call, doing.control)
        const result = await doing.result
        if (result && !signal.aborted) return await this.#tell(id, result, signal)
        // It was left when it ran, and is not now.
        if (!result) doing.result = undefined
      }
    } finally {
      leave()
    }
  }

  async #run({ id, part }: ClientPending, control: AbortController): Promise<ToolResult> {
    const { toolName } = part
    const { signal } = control
    try {
      const input = await this.#desk.inputOf(part, signal)
      // It may have been taken away meanwhile.
      if (!Object.hasOwn(this.tools, toolName)) control.abort()
      if (signal.aborted) return undefined
      const tool = this.tools[toolName] as (input: Json, context: ClientToolContext) => unknown
      return { output: (await tool(input, { toolCallId: id, toolName, signal })) ?? null }
    } catch (error) {
      return signal.aborted ? undefined : { error: textOf(error) }
    }
  }

  /** Tells what came of it; an output that is not taken is an error for the model. */
  async #tell(id: string, result: NonNullable<ToolResult>, signal: AbortSignal): Promise<void> {
    try {
      await this.#desk.answer({ kind: 'tool-result', id, ...result }, signal)
    } catch (error) {
      if ('error' in result || signal.aborted || failureOf(error).status === CONFLICT) throw error
      await this.#tell(id, { error: textOf(error) }, signal)
    }
  }
}
