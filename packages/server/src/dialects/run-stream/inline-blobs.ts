import { LogError, type StreamManager } from '@millrace/log'
import type { Json, Message, Part } from '@millrace/protocol'

/** Messages with their large values inlined, as dialects need them. */
export async function withInlineBlobs(
  manager: StreamManager,
  sessionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const inlined: Message[] = []
  // Sequential, since each value may be large.
  for (const message of messages) {
    if (!message.parts.some(({ blobs }) => blobs)) inlined.push(message)
    else {
      const parts: Part[] = []
      for (const part of message.parts) parts.push(await withInlineValues(manager, sessionId, part))
      inlined.push({ ...message, parts })
    }
  }
  return inlined
}

async function withInlineValues(manager: StreamManager, sessionId: string, part: Part): Promise<Part> {
  const { blobs, ...rest } = part
  if (blobs === undefined) return part
  const values: Record<string, Json> = {}
  for (const [pointer, { hash }] of Object.entries(blobs)) {
    const bytes = await manager.blob(sessionId, hash)
    if (bytes === undefined)
      throw new LogError('absent', `blob ${hash}: expected it in the store of session ${sessionId}, found none`)
    const isProgress = pointer === '/output' && 'progress' in part
    values[isProgress ? 'progress' : pointer.slice(1)] = JSON.parse(Buffer.from(bytes).toString())
  }
  return { ...rest, ...values } as Part
}
