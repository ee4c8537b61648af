import { LogError, type StreamManager } from '@millrace/log'
import type { Json, Message, Part } from '@millrace/protocol'
import { replyTooLarge } from '../../errors/http-error.ts'
import type { RouteCall } from '../../routing/route.ts'

/**
 * Messages with their large values inlined, as dialects need them. Their bytes are counted before they are read.
 * @throws `reply_too_large` or `bytes_limit`
 */
export async function withInlineBlobs(
  { services: { manager, limits }, replyBytes }: Pick<RouteCall, 'services' | 'replyBytes'>,
  streamId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const bytes = inlineBytesOf(messages)
  if (bytes > limits.replyBytes) throw replyTooLarge(limits.replyBytes)
  if (bytes > 0) replyBytes.add(bytes)
  const inlined: Message[] = []
  // Sequential, since each value may be large.
  for (const message of messages) {
    if (!message.parts.some(({ blobs }) => blobs)) inlined.push(message)
    else {
      const parts: Part[] = []
      for (const part of message.parts) parts.push(await withInlineValues(manager, streamId, part))
      inlined.push({ ...message, parts })
    }
  }
  return inlined
}

/** Counts what a stream reads at once, after its route has replied. */
export async function whileStreaming<C extends Pick<RouteCall, 'services' | 'caller' | 'replyBytes'>, T>(
  call: C,
  read: (call: C) => Promise<T>,
): Promise<T> {
  const replyBytes = call.services.limiter.countBytes(call.caller.principal)
  try {
    return await read({ ...call, replyBytes })
  } finally {
    replyBytes.release()
  }
}

/** Total size of the large values, in bytes. */
function inlineBytesOf(messages: readonly Message[]): number {
  let sum = 0
  for (const { parts } of messages)
    for (const { blobs = {} } of parts) for (const { bytes } of Object.values(blobs)) sum += bytes
  return sum
}

async function withInlineValues(manager: StreamManager, streamId: string, part: Part): Promise<Part> {
  const { blobs, ...rest } = part
  if (blobs === undefined) return part
  const values: Record<string, Json> = {}
  for (const [pointer, { hash }] of Object.entries(blobs)) {
    const bytes = await manager.blob(streamId, hash)
    if (bytes === undefined)
      throw new LogError('absent', `blob ${hash}: expected it in the store of session ${streamId}, found none`)
    const isProgress = pointer === '/output' && 'progress' in part
    values[isProgress ? 'progress' : pointer.slice(1)] = JSON.parse(Buffer.from(bytes).toString())
  }
  return { ...rest, ...values } as Part
}
