// Logs that are longer than anybody would wait for: as an echo writes them, a run after the other.

import type { Chunk, Entry, Origin } from '@millrace/protocol'
import type { LogStore } from 'millrace'

/** The log of so many runs, in each of which something is said and answered in so many words. */
export function logOf(runs: number, words: number): Entry[] {
  const log: Entry[] = []
  for (let run = 1; run <= runs; run++) log.push(...runOf(run, words, log.length))
  return log
}

/** What a run writes: the same of the same number, a millisecond after the other, with a minute between two runs. */
function runOf(run: number, words: number, before: number): Entry[] {
  const runId = `run-${run}`
  const program = 'agent:echo@1'
  const who = { runId, lane: 'main', agentId: runId, agentType: 'echo' }
  const parts = [{ type: 'text' as const, text: `Number ${run}.` }]
  const input = { messageId: `said-${run}`, role: 'user' as const, parts }
  const said = Array.from({ length: words }, (_, at) => (at === 0 ? `Answer ${run}:` : ` ${at}`))
  const entries: Entry[] = []
  const add = (origin: Origin, ...chunks: readonly Chunk[]) => {
    for (const chunk of chunks) {
      const sequence = before + entries.length + 1
      entries.push({ sequence, timestamp: run * 60_000 + sequence, origin, chunk })
    }
  }
  add({ guest: 'guest' }, { type: 'run-requested', runId, program, message: input })
  add({ ...who, step: 0 }, { type: 'run-started', program }, { type: 'message', ...input }, { type: 'start' })
  add(
    { ...who, step: 1, model: 'millrace:scripted' },
    { type: 'step-start' },
    { type: 'text-start', id: '1' },
    ...said.map(delta => ({ type: 'text-delta', id: '1', delta }) as const),
    { type: 'text-end', id: '1' },
    { type: 'step-finish', usage: { outputTokens: words }, finishReason: 'stop' },
    { type: 'checkpoint-created', checkpointId: `${runId}/main/1`, stepCount: 1, closesStep: true },
  )
  add(
    { ...who, step: 0 },
    { type: 'finish', finishReason: 'stop' },
    { type: 'run-finished', status: 'completed', checkpointId: `${runId}/main/1`, line: said.join('') },
  )
  return entries
}

/** Puts a log into a store as a session's. */
export async function keep(store: LogStore, sessionId: string, log: readonly Entry[]): Promise<void> {
  const BATCH = 5_000
  await store.create(sessionId, null)
  for (let at = 0; at < log.length; at += BATCH) {
    const batch = log.slice(at, at + BATCH).map(({ origin, chunk }) => ({ origin, chunk }))
    const by = { key: `batch-${at}`, keep: false, nonce: `n${at}` }
    const { outcome } = await store.append(sessionId, { body: JSON.stringify(batch), count: batch.length }, by)
    if (outcome !== 'appended') throw new Error(`The log could not be kept: ${outcome}`)
  }
}
