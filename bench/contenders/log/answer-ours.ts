import type { StreamManager, Writer } from '@millrace/log'
import type { BatchReader, ReadBatch } from '@millrace/log/internal'
import type { TextDeltaChunk } from '@millrace/protocol'
import { answer, streamOf } from '../../fixtures/text.ts'
import type { AnswerReader, Producer } from './answers.ts'
import { OWN_FILE, openManager } from './ours.ts'

const deltaOf = (delta: string): TextDeltaChunk => ({ type: 'text-delta', id: 'text-1', delta })

async function openWriter(manager: StreamManager, streamId: string): Promise<Writer> {
  const writer = await manager.createWriter(streamId, { runId: 'run-1', agentType: 'writer', step: 1 })
  await writer.commit([{ type: 'start' }])
  return writer
}

export async function openProducer(streamId: string, count: number, workIndex: number): Promise<Producer> {
  const manager = await openManager('redis', OWN_FILE)
  const writer = await openWriter(manager, streamId)
  const { deltas } = answer(count, workIndex)
  return {
    async produce() {
      let length = 0
      for await (const delta of streamOf(deltas)) {
        await writer.write(deltaOf(delta))
        length += delta.length
      }
      await writer.flush()
      return length
    },
  }
}

export async function openReader(streamId: string, length: number): Promise<AnswerReader> {
  const manager = await openManager('redis', OWN_FILE)
  const reader = manager.readBatches(streamId, { merge: true })
  return { text: textOf(reader, await reader.next(), length) }
}

/**
 * Stores an answer with `size` tokens per append, like a slower model. The run stays open or has ended. The log is shared by all processes
 * of a benchmark run.
 */
export async function storedAnswer(
  count: number,
  workIndex: number,
  size: number,
  state: 'live' | 'finished',
): Promise<string> {
  const manager = await openManager('redis', OWN_FILE)
  const streamId = `answer-${count}-${workIndex}-${size}-${state}`
  if (await manager.getInfo(streamId)) return streamId
  const writer = await openWriter(manager, streamId)
  const { deltas } = answer(count, workIndex)
  for (let at = 0; at < count; at += size) {
    for (const delta of deltas.slice(at, at + size)) writer.write(deltaOf(delta))
    await writer.flush()
  }
  if (state === 'finished') await manager.endStream(streamId)
  await writer.close()
  return streamId
}

async function textOf(reader: BatchReader, first: ReadBatch | undefined, length: number): Promise<string> {
  let text = ''
  for (let batch = first; batch; batch = await reader.next()) {
    for (const { chunk } of batch.entries) if (chunk.type === 'text-delta') text += chunk.delta
    if (text.length >= length) break
  }
  reader.close()
  return text
}
