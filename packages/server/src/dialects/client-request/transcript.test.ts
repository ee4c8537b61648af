import type { ClientMessage } from '@millrace/dialects'
import { describe, expect, test } from 'vitest'
import { user } from '../dialect-server.fixture.ts'
import { matchAnswers } from './client-answers.ts'
import { contentOf, positionOf, type UserMessage, userMessagesIn } from './transcript.ts'

/** User messages, with ids from `u1`. */
const lines = (...texts: readonly string[]): UserMessage[] =>
  texts.map((text, i) => ({ id: `u${i + 1}`, content: text, at: i + 1, runId: `r${i + 1}`, status: 'ended' }))

/** Messages with the id before the colon of each text. */
const withIds = (...texts: readonly string[]): ClientMessage[] =>
  texts.map(text => {
    const [id = '', words = ''] = text.split(':')
    return user(words, id)
  })

const without = (...texts: readonly string[]): ClientMessage[] => texts.map(text => user(text))

/** The position as text. */
function matchOf(logged: readonly UserMessage[], posted: readonly ClientMessage[]): string {
  try {
    const { at, kind } = positionOf(logged, posted)
    return `${kind} ${at}`
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('the position of the last message', () => {
  const abc = lines('a', 'b', 'c')

  test.each([
    [['u1:a', 'u2:b', 'u3:c', 'u4:d'], 'new 3'],
    [['u3:c', 'u4:d'], 'new 3'],
    [['u1:a', 'u2:b', 'u3:c'], 'same 2'],
    [['u1:a'], 'same 0'],
    [['u1:x'], 'replacement 0'],
    // This client has not seen the messages of others.
    [['u1:a', 'u9:x'], 'new 3'],
    [['u1:a', 'u2:b', 'u9:x'], 'new 3'],
    [['u1:a', 'u2:x'], 'replacement 1'],
    [['u9:x'], 'new 3'],
    [['u1:a', 'l1:lost', 'u2:b', 'u3:c', 'l2:lost', 'u4:d'], 'new 3'],
    [['x1:x', 'x2:y'], 'transcript_diverged'],
    // Ids that change with each request are no ids.
    [['x1:a', 'x2:b', 'x3:c', 'x4:d'], 'new 3'],
  ])('is found by ids: %j is %s', (posted, expected) => {
    expect(matchOf(abc, withIds(...posted))).toBe(expected)
  })

  test.each([
    [['a', 'b', 'c', 'd'], 'new 3'],
    [['b', 'c', 'd'], 'new 3'],
    [['c', 'd'], 'new 3'],
    [['a', 'b', 'c'], 'same 2'],
    [['b', 'c'], 'same 2'],
    [['a', 'b'], 'same 1'],
    [['c'], 'same 2'],
    // Users repeat words, on a page without history.
    [['b'], 'new 3'],
    [['a'], 'new 3'],
    [['x'], 'new 3'],
    [['a', 'x'], 'replacement 1'],
    [['a', 'b', 'x'], 'replacement 2'],
    [['b', 'x'], 'replacement 2'],
    [['a', 'lost', 'b', 'c', 'd'], 'new 3'],
    [['a', 'lost', 'b', 'c'], 'same 2'],
    [['x', 'y'], 'transcript_diverged'],
    [['a', 'x', 'y'], 'transcript_diverged'],
  ])('is found without ids: %j is %s', (posted, expected) => {
    expect(matchOf(abc, without(...posted))).toBe(expected)
  })

  test('prefers a repetition to a new message, and a new message to a replacement', () => {
    expect(matchOf(lines('yes', 'yes'), without('yes', 'yes'))).toBe('same 1')
    expect(matchOf(lines('yes', 'yes'), without('yes', 'yes', 'yes'))).toBe('new 2')
    expect(matchOf(lines('yes', 'no', 'yes'), without('yes', 'ok'))).toBe('new 3')
    expect(matchOf(lines(), without('a', 'b'))).toBe('new 0')
    expect(matchOf(lines(), withIds('u1:a', 'u2:b'))).toBe('new 0')
  })
})

test('compares text and files, which every dialect can express', () => {
  const file = { type: 'file', mediaType: 'image/png', url: 'data:,' }
  const other = { ...file, url: 'data:,x' }
  expect(contentOf([{ type: 'text', text: 'a' } as never, { type: 'data-x', data: 1 } as never])).toBe('a')
  expect(contentOf([file])).not.toBe(contentOf([]))
  expect(contentOf([file])).not.toBe(contentOf([other]))
})

/** An array that counts reads of its elements. */
function counted<T>(elements: readonly T[], count: () => void): readonly T[] {
  return new Proxy(elements, {
    get(target, key) {
      if (typeof key === 'string' && /^\d/.test(key)) count()
      return Reflect.get(target, key, target)
    },
  })
}

test('reads each message a bounded number of times', async () => {
  const readsOf = async (length: number): Promise<number> => {
    let reads = 0
    const list = <T>(elementOf: (i: number) => T): readonly T[] =>
      counted(
        Array.from({ length }, (_, i) => elementOf(i)),
        () => reads++,
      )
    const messages = (hasIds: boolean) => list(i => user(`${i}`, hasIds ? `u${i}` : undefined))
    const part = (i: number) => ({ type: 'tool', toolCallId: `c${i}`, state: 'output-available', key: '', at: i })
    const view = {
      messages: list(i => [
        { id: `u${i}`, role: 'user', at: i, parts: [{ type: 'text', text: `${i}` }] },
        { id: `a${i}`, role: 'assistant', runId: `r${i}`, at: i, parts: [part(i)] },
      ]).flat(),
      requests: list(i => ({ runId: `r${i}`, status: 'started', message: { messageId: `u${i}`, parts: [] } })),
      runs: list(i => ({ runId: `r${i}`, finishedAt: 1 })),
      pendings: [],
      interrupts: [],
    }
    const session = { ...view, messages: counted(view.messages, () => reads++) } as never
    const answers = list(i => ({ kind: 'tool-result', id: `c${i}`, output: 1 }) as const)
    const withLost = counted([user('lost'), ...messages(false), user('new')], () => reads++)
    for (const posted of [messages(true), messages(false), withLost]) {
      const logged = counted(userMessagesIn(session), () => reads++)
      expect(positionOf(logged, posted)).toBeDefined()
    }
    expect((await matchAnswers(session, answers, {} as never)).settled).toHaveLength(length)
    return reads
  }
  // Exactly linear: each additional element adds the same number of reads.
  const growth = (await readsOf(200)) - (await readsOf(100))
  expect((await readsOf(1_000)) - (await readsOf(900))).toBe(growth)
  expect(growth / 100).toBeLessThan(50)
})
