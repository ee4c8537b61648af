import { newId } from '@millrace/dialects'
import type { Json, Pending, ToolPart } from '@millrace/protocol'
import { failureOf } from '../error/chat-error.ts'
import type { ClientToolContext, ClientTools } from '../types/index.ts'
import { CONFLICT } from './session-api.ts'

/** Lifetime of a claim on a call, in ms. After a tab closes, another tab can claim its calls that much later. */
const CLAIM_MS = 20_000
/** Longest error text that the server accepts, in characters. */
const MAX_ERROR_LENGTH = 8192

type ClientPending = Extract<Pending, { kind: 'client-tool' }>

/** Requests that tool calls need. */
export interface ToolCallsApi {
  /** Posts an answer, with retries until the signal aborts. */
  answer(answer: object, signal: AbortSignal): Promise<unknown>
  /** Input of a tool call, loaded from its blob if it is large. */
  inputOf(part: ToolPart, signal: AbortSignal): Promise<Json>
}

/** Result of a tool call. Undefined if it was aborted. */
type ToolResult = { readonly output: unknown } | { readonly error: string } | undefined

interface ToolExecution {
  readonly controller: AbortController
  /** Result of the started tool. Kept on abort, so that a tab that starts again does not run the tool twice. */
  result?: Promise<ToolResult> | undefined
}

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH)

/** Runs calls of client tools. A tab claims a call first, so that it runs once and in one tab. */
export class ToolCalls {
  tools: ClientTools = {}
  readonly #api: ToolCallsApi
  readonly #report: (error: unknown, toolCallId: string) => void
  readonly #client: string = newId()
  /** Started calls by id, also settled ones, while they are pending. */
  readonly #executions = new Map<string, ToolExecution>()

  constructor(api: ToolCallsApi, report: (error: unknown, toolCallId: string) => void) {
    this.#api = api
    this.#report = report
  }

  /** Starts pending calls, and aborts calls that are no longer pending. */
  update(pendings: readonly Pending[]): void {
    const calls = pendings.filter((pending): pending is ClientPending => pending.kind === 'client-tool')
    const pendingIds = new Set(calls.map(({ id }) => id))
    for (const [id, { controller }] of this.#executions) {
      if (pendingIds.has(id)) continue
      controller.abort()
      this.#executions.delete(id)
    }
    for (const call of calls) if (Object.hasOwn(this.tools, call.part.toolName)) this.#start(call)
  }

  /** Aborts all calls. */
  close(): void {
    for (const { controller } of this.#executions.values()) controller.abort()
  }

  #start(call: ClientPending): void {
    const { id } = call
    const previous = this.#executions.get(id)
    if (previous && !previous.controller.signal.aborted) return
    const execution: ToolExecution = { controller: new AbortController(), result: previous?.result }
    this.#executions.set(id, execution)
    this.#execute(call, execution).catch(error => {
      // A conflict is no error: another tab was first, or the run went on.
      if (!execution.controller.signal.aborted && failureOf(error).status !== CONFLICT) this.#report(error, id)
    })
  }

  async #execute(call: ClientPending, execution: ToolExecution): Promise<void> {
    const { id } = call
    const { signal } = execution.controller
    // While another tab holds the claim, the server asks to retry.
    const claim = () => this.#api.answer({ kind: 'claim', id, client: this.#client, forMs: CLAIM_MS }, signal)
    await claim()
    let isRenewing = false
    const renew = async () => {
      if (isRenewing) return
      isRenewing = true
      await claim().catch(() => {})
      isRenewing = false
    }
    const renewal = setInterval(renew, CLAIM_MS / 2)
    const stopRenewal = () => clearInterval(renewal)
    signal.addEventListener('abort', stopRenewal)
    try {
      while (!signal.aborted) {
        execution.result ??= this.#run(call, execution.controller)
        const result = await execution.result
        if (result && !signal.aborted) return await this.#sendResult(id, result, signal)
        // An earlier execution aborted the tool. Runs it again.
        if (!result) execution.result = undefined
      }
    } finally {
      stopRenewal()
    }
  }

  async #run({ id, part }: ClientPending, controller: AbortController): Promise<ToolResult> {
    const { toolName } = part
    const { signal } = controller
    try {
      const input = await this.#api.inputOf(part, signal)
      // The tool may have been removed meanwhile.
      if (!Object.hasOwn(this.tools, toolName)) controller.abort()
      if (signal.aborted) return undefined
      const tool = this.tools[toolName] as (input: Json, context: ClientToolContext) => unknown
      return { output: (await tool(input, { toolCallId: id, toolName, signal })) ?? null }
    } catch (error) {
      return signal.aborted ? undefined : { error: textOf(error) }
    }
  }

  /** Posts a result. The model gets an error in place of an output that the server refuses. */
  async #sendResult(id: string, result: NonNullable<ToolResult>, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.answer({ kind: 'tool-result', id, ...result }, signal)
    } catch (error) {
      if ('error' in result || signal.aborted || failureOf(error).status === CONFLICT) throw error
      await this.#sendResult(id, { error: textOf(error) }, signal)
    }
  }
}
