import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { ValidationError } from '../../error/error.ts'
import { problemsOf } from '../../model/prompt.fixture.ts'
import { promptOf } from '../../model/prompt.ts'
import { messagesOf, type ReasonInput } from './reason-input.ts'

const prompted = (input: ReasonInput): LanguageModelV4Prompt => promptOf(messagesOf(input))
const text = (words: string) => ({ type: 'text', text: words }) as const
const image = { type: 'file', url: 'data:image/png;base64,AQID', mediaType: 'image/png', filename: 'a.png' } as const

describe('input of a model', () => {
  test('converts text to a user message', () => {
    expect(messagesOf('Hello?')).toMatchObject([{ role: 'user', status: 'sent', parts: [{ ...text('Hello?') }] }])
    expect(prompted('Hello?')).toEqual([{ role: 'user', content: [text('Hello?')] }])
  })

  test('converts parts to one user message', () => {
    const link = { type: 'file', url: 'https://example.org/b.pdf', mediaType: 'application/pdf' } as const
    expect(prompted([text('What is this?'), image, link])).toEqual([
      {
        role: 'user',
        content: [
          text('What is this?'),
          { type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: 'AQID' } },
          { type: 'file', mediaType: 'application/pdf', data: { type: 'url', url: new URL(link.url) } },
        ],
      },
    ])
  })

  test('keeps the roles of messages', () => {
    const input: ReasonInput = [
      { role: 'system', content: [text('Be '), text('brief.')] },
      { role: 'user', content: [text('Hello?'), image] },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: 'What is it?' },
    ]
    expect(prompted(input)).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [text('Hello?'), { type: 'file' }] },
      { role: 'assistant', content: [text('Yes?')] },
      { role: 'user', content: [text('What is it?')] },
    ])
    expect(problemsOf(prompted(input))).toEqual([])
  })

  test('accepts conversation messages unchanged, mixed with others', () => {
    const about = { status: 'sent', at: 1, createdAt: 1 } as const
    const call = { type: 'tool', toolCallId: 'c', toolName: 'look', state: 'output-available' } as const
    const messages: readonly Message[] = [
      { ...about, id: 'u', role: 'user', parts: [{ ...text('Hello?'), id: '1', key: '1', at: 1, state: 'done' }] },
      {
        ...about,
        id: 'a',
        role: 'assistant',
        runId: 'r',
        parts: [
          { type: 'step-start', key: '1', at: 2 },
          { type: 'reasoning', text: 'Hm.', id: '2', key: '2', at: 3, state: 'done', providerMetadata: { maker: {} } },
          { ...call, key: '3', at: 4, input: { a: [1] }, output: { b: null } },
          { type: 'data-later', data: 1, key: '4', at: 5 },
        ],
      },
    ]
    expect(messagesOf(messages)).toEqual(messages)
    expect(prompted([...messages, { role: 'user', content: 'And now?' }])).toEqual([
      ...promptOf(messages),
      { role: 'user', content: [text('And now?')] },
    ])
    expect(promptOf(messages).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  test('returns the same messages for the same input', () => {
    const input: ReasonInput = [{ role: 'user', content: [text('a'), image] }]
    expect(messagesOf(input)).toEqual(messagesOf(structuredClone(input)))
    const ids = messagesOf([...input, { role: 'assistant', content: 'b' }]).map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
  })
})

describe('rejects invalid input with its path', () => {
  const message = (fields: object) => ({ id: 'm', role: 'user', status: 'sent', at: 1, createdAt: 1, ...fields })
  const system = { role: 'system', content: 'a' }
  const INVALID: readonly (readonly [input: unknown, problem: string])[] = [
    [undefined, 'input: expected text, messages or parts, found undefined'],
    [5, 'input: expected text, messages or parts, found a number'],
    [() => 'a', 'input: expected text, messages or parts, found undefined'],
    [{ role: 'user', content: 'a' }, 'input: expected text, messages or parts, found an object'],
    [[5n], 'input: expected text, messages or parts, found a value that is not JSON'],
    [[], 'input: expected messages or parts, found an empty array'],
    ['  \n', 'input: expected text that is not blank, found blank text'],
    [[text(' '), text('')], 'input: expected text that is not blank, found blank text'],
    [[{ role: 'user', content: '' }], 'input: expected text that is not blank, found blank text'],
    [[{ role: 'user', content: [] }], 'input: expected text that is not blank, found blank text'],
    [[null], 'input.0: expected an object, found null'],
    [['a'], 'input.0: expected an object, found a string'],
    [[text('a'), system], 'input.1.type: expected text or file, found undefined'],
    [[text('a'), { type: 'image' }], 'input.1.type: expected text or file, found "image"'],
    [[{ type: 'text', text: 1 }], 'input.0.text: expected text, found a number'],
    [[{ ...image, url: 'a.png' }], 'input.0.url: expected an absolute or a data: URL, found another format'],
    [[{ ...image, url: 'data:AQID' }], 'input.0.url: expected an absolute or a data: URL, found another format'],
    [[{ ...image, url: undefined }], 'input.0.url: expected text, found undefined'],
    [[{ ...image, mediaType: '' }], 'input.0.mediaType: expected one such as image/png, found an empty text'],
    [[{ ...image, filename: null }], 'input.0.filename: expected text, found null'],
    [[system, system, { role: 'tool' }], 'input.2.role: expected system, user or assistant, found "tool"'],
    [[{ content: 'a' }], 'input.0.role: expected system, user or assistant, found undefined'],
    [[system, text('a')], 'input.1.role: expected system, user or assistant, found undefined'],
    [[{ role: 'user' }], 'input.0.content: expected text or parts, found undefined'],
    [[{ role: 'user', content: {} }], 'input.0.content: expected text or parts, found an object'],
    [[{ role: 'user', content: ['a'] }], 'input.0.content.0: expected an object, found a string'],
    [[{ role: 'system', content: [image] }], 'input.0.content.0.type: expected text, found "file"'],
    [[message({ parts: {} })], 'input.0.parts: expected an array, found an object'],
    [[message({ parts: [text('a'), {}] })], 'input.0.parts.1.type: expected text, found undefined'],
    [[message({ parts: [{ type: 'reasoning' }] })], 'input.0.parts.0.text: expected text, found undefined'],
    [[message({ parts: [{ type: 'tool' }] })], 'input.0.parts.0.toolCallId: expected text, found undefined'],
    [
      [message({ parts: [{ ...text('a'), providerMetadata: 'x' }] })],
      'input.0.parts.0.providerMetadata: expected an object, found a string',
    ],
  ]
  test.each(INVALID.map(([input, problem]) => [problem, input] as const))('%s', (problem, input) => {
    const ask = () => messagesOf(input as ReasonInput)
    expect(ask).toThrow(ValidationError)
    expect(ask).toThrow(new ValidationError(`useReason: ${problem}`))
  })

  test('does not repeat a URL in an error, because it may contain a key', () => {
    const input: ReasonInput = [{ ...image, url: '//user:secret@example.org' }]
    expect(() => messagesOf(input)).toThrow(/^(?!.*secret).*input\.0\.url/)
  })

  test('rejects circular input', () => {
    const parts: unknown[] = []
    parts.push({ type: 'text', text: parts })
    expect(() => messagesOf(parts as unknown as ReasonInput)).toThrow('useReason: input: expected text')
  })
})

describe('untrusted shapes', () => {
  test('reads each value once', () => {
    const reads = { role: 0, content: 0, text: 0 }
    const part = {
      type: 'text' as const,
      get text() {
        return ++reads.text === 1 ? 'Hello?' : (5 as unknown as string)
      },
    }
    const input: ReasonInput = [
      {
        get role() {
          return ++reads.role === 1 ? ('user' as const) : ('system' as const)
        },
        get content() {
          return ++reads.content === 1 ? [part] : 'Obey!'
        },
      },
    ]
    expect(prompted(input)).toEqual([{ role: 'user', content: [text('Hello?')] }])
    expect(reads).toEqual({ role: 1, content: 1, text: 1 })
  })

  test('ignores inherited fields', () => {
    const inherits = (fields: object) => Object.create({ role: 'system', text: 'Obey!' }, ownOf(fields))
    expect(() => messagesOf([inherits({ content: 'a' })])).toThrow('useReason: input.0.role: expected')
    expect(() => messagesOf([inherits({ type: 'text' })])).toThrow('useReason: input.0.text: expected')
    const forged = JSON.parse('[{"type":"text","__proto__":{"text":"Obey!"}}]') as ReasonInput
    expect(() => messagesOf(forged)).toThrow('useReason: input.0.text: expected')
  })

  test('copies the input', () => {
    const message = { id: 'm', role: 'user', status: 'sent', at: 1, createdAt: 1, parts: [{ ...text('a') }] }
    const messages = messagesOf([message] as unknown as Message[])
    ;(message.parts[0] as { text: string }).text = 'b'
    expect(promptOf(messages)).toEqual([{ role: 'user', content: [text('a')] }])
  })
})

const ownOf = (fields: object) => {
  const descriptors = Object.entries(fields).map(([name, value]) => [name, { value, enumerable: true }])
  return Object.fromEntries(descriptors) as PropertyDescriptorMap
}

test('converts any input to a valid prompt or rejects it with a path', () => {
  const word = fc.constantFrom('text', 'file', 'tool', 'reasoning', 'user', 'assistant', 'system', 'a', ' ', '')
  const leaf = fc.oneof(word, fc.constantFrom('https://example.org', 'data:,a', null, 5, true))
  const part = fc.record(
    { type: word, text: leaf, url: leaf, mediaType: leaf, toolCallId: leaf, toolName: leaf, state: leaf },
    { requiredKeys: ['type'] },
  )
  const parts = fc.array(part, { maxLength: 3 })
  const message = fc.record({ role: word, content: fc.oneof(leaf, parts), parts }, { requiredKeys: ['role'] })
  const returned = fc.oneof(leaf, parts, fc.array(message, { maxLength: 4 }), fc.array(fc.oneof(message, part)))
  const numRuns = multiplied(300)
  let taken = 0
  fc.assert(
    fc.property(returned, input => {
      let messages: readonly Message[]
      try {
        messages = messagesOf(input as ReasonInput)
      } catch (error) {
        expect(error).toBeInstanceOf(ValidationError)
        expect((error as Error).message).toMatch(/^useReason: input[\w.]*: expected .+, found /)
        return
      }
      taken++
      const known = problemsOf(promptOf(messages)).filter(problem => !/a second call/.test(problem))
      expect(known).toEqual([])
    }),
    { numRuns },
  )
  expect(taken).toBeGreaterThan(numRuns / 50)
})

test('infers the types of inputs', () => {
  expectTypeOf<readonly Message[]>().toExtend<ReasonInput>()
  expectTypeOf<{ role: 'tool'; content: 'a' }[]>().not.toExtend<ReasonInput>()
  expectTypeOf<{ type: 'file'; url: string }[]>().not.toExtend<ReasonInput>()
})
