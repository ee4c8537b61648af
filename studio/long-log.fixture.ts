// Long logs of an echo agent, generated run by run.

import type { Chunk, Entry, Origin } from '@millrace/protocol'
import type { LogStore } from 'millrace'

/** A log with `runs` turns, each with an answer of `words` words. */
export function logOf(runs: number, words: number): Entry[] {
  const log: Entry[] = []
  for (let run = 1; run <= runs; run++) log.push(...runOf(run, words, log.length))
  return log
}

/** The entries of one run, 1 ms apart. Runs start a minute apart. */
function runOf(run: number, words: number, before: number): Entry[] {
  const runId = `run-${run}`
  const program = 'agent:echo@1'
  const writer = { runId, lane: 'main', agentId: runId, agentType: 'echo' }
  const parts = [{ type: 'text' as const, text: `Number ${run}.` }]
  const input = { messageId: `message-${run}`, role: 'user' as const, parts }
  const deltas = Array.from({ length: words }, (_, at) => (at === 0 ? `Answer ${run}:` : ` ${at}`))
  const entries: Entry[] = []
  const add = (origin: Origin, ...chunks: readonly Chunk[]) => {
    for (const chunk of chunks) {
      const sequence = before + entries.length + 1
      entries.push({ sequence, timestamp: run * 60_000 + sequence, origin, chunk })
    }
  }
  add({ guest: 'guest' }, { type: 'run-requested', runId, program, message: input })
  add({ ...writer, step: 0 }, { type: 'run-started', program }, { type: 'message', ...input }, { type: 'start' })
  add(
    { ...writer, step: 1, model: 'millrace:scripted' },
    { type: 'step-start' },
    { type: 'text-start', id: '1' },
    ...deltas.map(delta => ({ type: 'text-delta', id: '1', delta }) as const),
    { type: 'text-end', id: '1' },
    { type: 'step-finish', usage: { outputTokens: words }, finishReason: 'stop' },
    { type: 'checkpoint-created', checkpointId: `${runId}/main/1`, stepCount: 1, closesStep: true },
  )
  add(
    { ...writer, step: 0 },
    { type: 'finish', finishReason: 'stop' },
    { type: 'run-finished', status: 'completed', checkpointId: `${runId}/main/1`, line: deltas.join('') },
  )
  return entries
}

/** Appends a log to a store as a new session. */
export async function storeLog(store: LogStore, sessionId: string, log: readonly Entry[]): Promise<void> {
  const BATCH = 5_000
  await store.create(sessionId, null)
  for (let at = 0; at < log.length; at += BATCH) {
    const batch = log.slice(at, at + BATCH).map(({ origin, chunk }) => ({ origin, chunk }))
    const by = { key: `batch-${at}`, keep: false, nonce: `n${at}` }
    const { outcome } = await store.append(sessionId, { body: JSON.stringify(batch), count: batch.length }, by)
    if (outcome !== 'appended') throw new Error(`Expected the batch to be appended, found ${outcome}.`)
  }
}
