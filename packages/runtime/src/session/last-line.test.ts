import type { Message } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { lastLineIn, lastLineOf } from './last-line.ts'

const text = (...texts: string[]): Message =>
  ({ parts: texts.map(content => ({ type: 'text', text: content })) }) as unknown as Message

describe('the last line', () => {
  test.each([
    ['', undefined],
    [' \n\t\n', undefined],
    ['Ulm', 'Ulm'],
    ['First.\nSecond.\n\n  \n', 'Second.'],
    ['First.\r\n\r\n  Second,\t in  pieces. \r\n', 'Second, in pieces.'],
    ['First.\u2028Second.', 'Second.'],
    [`First.\n${'x'.repeat(300)}`, 'x'.repeat(160)],
    [`${'word '.repeat(1000)}\nLast.`, 'Last.'],
    // A line that starts too far back is truncated, without a partial word.
    [`${'word '.repeat(1000)}end`, `…${'word '.repeat(32).slice(0, 159)}`.trimEnd()],
    [`${'語'.repeat(3000)}`, `…${'語'.repeat(159)}`],
    [`${'🙂'.repeat(3000)}x`, `…${'🙂'.repeat(79)}`],
    [`Said.${'\n'.repeat(5000)}`, undefined],
  ])('turns %j into %j', (content, line) => {
    expect(lastLineOf(content)).toBe(line)
  })

  test('comes from the last text part of a message that is not empty', () => {
    expect(lastLineIn(undefined)).toBeUndefined()
    expect(lastLineIn(text())).toBeUndefined()
    expect(lastLineIn(text('One.', 'Two.', ' \n'))).toBe('Two.')
    const { parts } = text('One.')
    const others = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'data-note', data: { text: 'No.' } },
    ]
    expect(lastLineIn({ parts: [...parts, ...others] } as unknown as Message)).toBe('One.')
  })
})
