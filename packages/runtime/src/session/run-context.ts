import type { StreamManager } from '@millrace/log'
import type { Json, View } from '@millrace/protocol'
import { largeValue } from './large-value.ts'

/** The context that the server passed to a run, read from the session. It must not leave the server (law 10). */
export async function runContextOf(
  manager: StreamManager,
  sessionId: string,
  { internal }: View,
  runId: string,
): Promise<Json | undefined> {
  const run = internal?.runs.find(other => other.runId === runId)
  const blob = run?.blobs?.['/context']
  if (blob === undefined) return run?.context
  return largeValue(manager, sessionId, blob.hash)
}
