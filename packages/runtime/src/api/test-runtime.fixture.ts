// A runtime with a store in memory, and models that wait for a test.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { type LogStore, memoryStore, openStore } from '@millrace/log'
import type { Chunk, Entry } from '@millrace/protocol'
import { onTestFinished } from 'vitest'
import { type Agent, agent } from '../define/agent.ts'
import { MillraceError } from '../error/error.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Run } from './run.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import type { RuntimeOptions } from './runtime-options.ts'

export const quiet: Logger = { warn() {}, error() {} }

/** A promise that a test resolves. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** A runtime that is closed after the test. */
export function testRuntime(options: Partial<RuntimeOptions> = {}): Runtime {
  const runtime = createRuntime({
    store: memoryStore(),
    engine: { pollMs: 10, graceMs: 0 },
    backoff: { firstMs: 1, longestMs: 1 },
    logger: quiet,
    ...options,
  })
  onTestFinished(() => runtime.close())
  return runtime
}

/** An agent that answers with its input and the number of earlier answers. */
export const echo: Agent<'echo'> = agent({
  name: 'echo',
  model: scriptedModel(({ lastText, answers }) => ({ text: `${answers}: ${lastText}` })),
}) as Agent<'echo'>

/** An agent that streams text, waits for the gate, and streams the rest. The callback gets each prompt. */
export function patient({ opened }: Gate, modelCalls: (prompt: string) => void = () => {}): Agent<'patient'> {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'patient',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('doGenerate is not supported: use doStream')),
    async doStream({ abortSignal, prompt }) {
      modelCalls(JSON.stringify(prompt))
      const parts = partsOf(opened)
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start: controller => abortSignal?.addEventListener('abort', () => controller.error(abortSignal.reason)),
        async pull(controller) {
          const { done, value } = await parts.next()
          if (abortSignal?.aborted) return
          if (done) controller.close()
          else controller.enqueue(value)
        },
      })
      return { stream }
    },
  }
  return agent({ name: 'patient', model }) as Agent<'patient'>
}

async function* partsOf(opened: Promise<void>): AsyncGenerator<LanguageModelV4StreamPart, void, void> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: 't' }
  yield { type: 'text-delta', id: 't', delta: 'one ' }
  await opened
  yield { type: 'text-delta', id: 't', delta: 'two' }
  yield { type: 'text-end', id: 't' }
  const inputTokens = { total: 3, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
  const outputTokens = { total: 2, text: undefined, reasoning: undefined }
  yield { type: 'finish', usage: { inputTokens, outputTokens }, finishReason: { unified: 'stop', raw: undefined } }
}

/** Waits for a chunk of a run and returns its entry. */
export async function until<T extends Chunk['type']>(run: Run, type: T): Promise<Entry & { cursor: string }> {
  for await (const entry of run.stream()) if (entry.chunk.type === type) return entry
  throw new Error(`run ${run.runId} never wrote ${type}`)
}

/** All entries of a session. */
export async function logOf(runtime: Runtime, sessionId: string): Promise<Entry[]> {
  const { head = 0, floor = 0 } = (await runtime.manager.getInfo(sessionId)) ?? {}
  return runtime.manager.entries(sessionId, floor, head)
}

export const typesOf = (entries: readonly { readonly chunk: Chunk }[]): string[] =>
  entries.map(({ chunk }) => chunk.type)

/** The texts of a session's messages, in order. */
export async function textsOf(runtime: Runtime, sessionId: string): Promise<string[]> {
  const { view } = await runtime.view(sessionId)
  return view.messages.map(({ parts }) => parts.map(part => ('text' in part ? part.text : '')).join(''))
}

/** The code of an error; `none` if there is none. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    error => (MillraceError.isInstance(error) ? error.code : `not typed: ${error}`),
  )

/** A store that counts its watches. */
export function countedStore(store: LogStore = memoryStore()): { store: LogStore; watches: () => number } {
  let watches = 0
  const counted = new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key)
      if (typeof value !== 'function') return value
      if (key !== 'watch') return value.bind(target)
      return (streamId: string, wake: () => void) => {
        watches++
        const stop = target.watch(streamId, wake)
        return () => {
          watches--
          stop()
        }
      }
    },
  })
  return { store: counted, watches: () => watches }
}

/** Several handles of one SQLite file. They are closed, and the file is removed, after the test. */
export async function sqliteStores(count: number): Promise<LogStore[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'))
  const url = `sqlite:${join(folder, 'logs.db')}`
  const stores = await Promise.all(Array.from({ length: count }, () => openStore(url)))
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    rmSync(folder, { recursive: true })
  })
  // Callers remove the stores that they use from the list.
  return [...stores]
}
