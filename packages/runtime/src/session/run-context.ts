import type { StreamManager } from '@millrace/log'
import type { Json, View } from '@millrace/protocol'
import { largeValue } from './large-value.ts'

/** What the server's own code gave a run, told from the session; it must not leave the server (law 10). */
export async function contextOf(
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
