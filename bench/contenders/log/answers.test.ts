import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { answer, streamOf } from '../../fixtures/text.ts'
import { closeAll } from '../../harness/cleanup.ts'
import { Services } from '../../harness/services.ts'
import { storedAnswer } from './answer-ours.ts'
import { openContext } from './answer-resumable.ts'
import { openReader, textOf } from './answers.ts'

const services = new Services()
beforeAll(() => services.need(['redis', 'folder']))
afterEach(closeAll)
afterAll(() => services.stop())

test('a finished answer can be read from our log and is null in resumable-stream', async () => {
  const text = await textOf('ours', 100, 0)
  const finished = await storedAnswer(100, 0, 8, 'finished')
  expect(await (await openReader('ours', finished, text.length)).text).toBe(text)

  const context = await openContext()
  const streamId = randomUUID()
  const stream = await context.createNewResumableStream(streamId, () => streamOf(answer(100, 0).deltas))
  const texts: string[] = []
  for await (const token of stream ?? []) texts.push(token)
  expect(texts.join('')).toBe(text)
  await expect.poll(() => context.hasExistingStream(streamId)).toBe('DONE')
  expect(await context.resumeExistingStream(streamId)).toBeNull()
})

test('storedAnswer writes `size` tokens per append', async () => {
  const { openManager, OWN_FILE } = await import('./ours.ts')
  const manager = await openManager('redis', OWN_FILE)
  for (const size of [1, 8]) {
    const reader = manager.readBatches(await storedAnswer(80, 1, size, 'live'))
    const { entries = [] } = (await reader.next()) ?? {}
    reader.close()
    expect(entries.filter(({ chunk }) => chunk.type === 'text-delta')).toHaveLength(80 / size)
  }
})
