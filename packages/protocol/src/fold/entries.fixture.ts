// A helper to write logs: each call appends an entry.

import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry, Origin, WriterOrigin } from '../entry/entry.ts'
import { Fold, type FoldReport } from './fold.ts'

export const MAIN: WriterOrigin = { runId: 'r1', lane: 'main', agentId: 'r1', agentType: 'assistant', step: 1 }
export const TOOL: WriterOrigin = { ...MAIN, lane: 'tool' }
export const CHILD: WriterOrigin = { ...MAIN, lane: 'child', agentId: 'sub', agentType: 'researcher' }
export const ADA: Origin = { guest: 'ada', runId: 'r1' }

/** A growing log, with its fold and the reports of the fold. */
export function newFoldedLog() {
  const log: Entry[] = []
  const reports: FoldReport['code'][] = []
  const transient: Chunk[] = []
  const fold = new Fold({
    onReport: report => reports.push(report.code),
    onTransient: entry => transient.push(entry.chunk),
  })
  const write = (chunk: Chunk, origin: Origin = MAIN, internal?: true): Fold => {
    const sequence = log.length + 1
    const entry: Entry = { sequence, timestamp: 1000 + sequence, origin, chunk, ...(internal && { internal }) }
    log.push(entry)
    fold.apply([entry])
    return fold
  }
  const parts = (id = 'r1::r1') => fold.message(id)?.parts ?? []
  return { log, fold, reports, transient, write, parts }
}

export const commit: Chunk = { type: 'checkpoint-created', checkpointId: 'cp' }
export const discard: Chunk = { type: 'step-discarded', reason: 'retry' }
