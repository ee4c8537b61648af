// An answer to a pending of a session with a history, until it is accepted.
import { deepStrictEqual, ok } from 'node:assert/strict'
import type { StreamManager } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import type { Runtime } from '@millrace/runtime'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'

/** Whether the answer states the input that was shown, which the server then compares. */
export type StatedInput = 'the input' | 'nothing'

/** Entries per append while the history is written. */
const ENTRIES_PER_APPEND = 300
/** Number of entries from which a paused session gets a snapshot, as its driver would write. */
const SNAPSHOT_AFTER = 500

/** Sequential answers in a session with at least `entries` earlier entries. */
export async function submitAnswers(
  backend: Backend,
  entries: number,
  stated: StatedInput,
  count: number,
  workIndex: number,
): Promise<Job> {
  const { manager, answer } = await openServer(backend)
  const sessionId = crypto.randomUUID()
  const runId = `run-${workIndex}`
  const idOf = (n: number): string => `${runId}::call-${n}`
  const inputOf = (n: number): { text: string } => ({ text: `of call ${n}` })
  await writeHistory(manager, sessionId, entries)
  await writePause(
    manager,
    sessionId,
    runId,
    Array.from({ length: count }, (_, n) => requestOf(`call-${n}`, idOf(n), inputOf(n))),
  )
  const answerAll = async () => {
    const sequences: number[] = []
    for (let n = 0; n < count; n++) {
      const shown = stated === 'nothing' ? {} : { input: inputOf(n) }
      const { sequence } = await answer(sessionId, { kind: 'approval', id: idOf(n), approved: true, ...shown })
      sequences.push(sequence)
    }
    return sequences
  }
  return job(answerAll, async answered => {
    const { ticket, head } = (await manager.getInfo(sessionId)) ?? {}
    deepStrictEqual({ pendings: ticket?.pendings, ready: ticket?.ready }, { pendings: [], ready: true })
    const last = await manager.entries(sessionId, (head ?? 0) - count, head ?? 0)
    const ids = last.map(({ chunk }) => (chunk.type === 'tool-approval-response' ? chunk.approvalId : ''))
    deepStrictEqual(
      { ids, sequences: answered },
      { ids: Array.from(answered, (_, n) => idOf(n)), sequences: last.map(({ sequence }) => sequence) },
    )
    ok(answered.length === count && (head ?? 0) >= entries)
  })
}

/** A server without a driver, so that only the answer is measured. */
const openServer = openOnce(
  async (backend: Backend): Promise<{ manager: StreamManager; answer: Runtime['answer'] }> => {
    const { createRuntime } = await import('@millrace/runtime')
    const runtime = createRuntime({ store: await openStore(backend, OWN_FILE), agents: [], engine: false })
    onCleanup(() => runtime.close())
    return { manager: runtime.manager, answer: (...args) => runtime.answer(...args) }
  },
)

/** Writes a finished run with `entries` entries of text. */
async function writeHistory(manager: StreamManager, sessionId: string, entries: number): Promise<void> {
  const writer = await manager.createWriter(sessionId, { runId: 'past', agentType: 'bench', step: 1 })
  for (let n = 0; n < entries; n += ENTRIES_PER_APPEND) {
    const parts = Array.from({ length: Math.min(ENTRIES_PER_APPEND, entries - n) / 3 }, (_, i): Chunk[] => {
      const id = `t${n}-${i}`
      return [
        { type: 'text-start', id },
        { type: 'text-delta', id, delta: `Some words of part ${i} of ${n}, as many as a model says at once. ` },
        { type: 'text-end', id },
      ]
    })
    await writer.commit(parts.flat())
  }
  await manager.endStream(sessionId)
  await writer.close()
}

/** Writes a run that waits for answers to the given requests. */
async function writePause(
  manager: StreamManager,
  sessionId: string,
  runId: string,
  requests: readonly Chunk[][],
): Promise<void> {
  const writer = await manager.createWriter(sessionId, { runId, agentType: 'bench', step: 1 })
  await writer.commit(requests.flat())
  await manager.pauseStream(sessionId)
  const { sequence } = writer.cursor
  await writer.close()
  if (sequence >= SNAPSHOT_AFTER) await manager.snapshot(sessionId)
}

const requestOf = (toolCallId: string, approvalId: string, input: { text: string }): Chunk[] => [
  { type: 'tool-input-available', toolCallId, toolName: 'echo', input, executor: 'server' },
  { type: 'tool-approval-request', toolCallId, toolName: 'echo', approvalId, input },
]
