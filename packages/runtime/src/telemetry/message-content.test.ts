import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { inputOf, OutputCollector } from './message-content.ts'
import { MAX_CONTENT_LENGTH } from './truncate-json.ts'

test('converts a prompt to the format of the conventions: instructions apart, messages in order', () => {
  const prompt: LanguageModelV4Prompt = [
    { role: 'system', content: 'Be kind.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array(3) } },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 1 } },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'json', value: [1] } }],
    },
    { role: 'system', content: 'Answer now.' },
  ]
  const { instructions, messages } = inputOf(prompt)
  expect(JSON.parse(instructions?.json ?? '')).toEqual([{ type: 'text', content: 'Be kind.' }])
  expect(JSON.parse(messages.json)).toEqual([
    {
      role: 'user',
      parts: [
        { type: 'text', content: 'Look.' },
        { type: 'blob', modality: 'image', mime_type: 'image/png', content: '' },
        { type: 'uri', modality: 'image', mime_type: 'image/png', uri: 'https://example.com/a.png' },
      ],
    },
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'Hm.' },
        { type: 'tool_call', id: 'c1', name: 'look', arguments: { at: 1 } },
      ],
    },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: [1] }] },
    { role: 'system', parts: [{ type: 'text', content: 'Answer now.' }] },
  ])
  expect(messages.isTruncated).toBe(false)
})

test('keeps the latest messages of a long conversation', () => {
  const prompt: LanguageModelV4Prompt = Array.from({ length: 100 }, (_, i) => ({
    role: 'user',
    content: [{ type: 'text', text: `${i} ${'x'.repeat(3000)}` }],
  }))
  const { messages } = inputOf(prompt)
  const kept = JSON.parse(messages.json) as { parts: { content: string }[] }[]
  expect(messages.isTruncated).toBe(true)
  expect(messages.json.length).toBeLessThan(MAX_CONTENT_LENGTH * 1.5)
  expect(kept.length).toBeGreaterThan(10)
  expect(kept.at(-1)?.parts[0]?.content).toMatch(/^99 /)
})

test('collects an answer part by part', () => {
  const gathered = new OutputCollector()
  gathered.add({ type: 'reasoning-delta', id: 'r', delta: 'So' })
  gathered.add({ type: 'text-delta', id: 'a', delta: 'Hello' })
  gathered.add({ type: 'text-delta', id: 'a', delta: ' you.' })
  gathered.add({ type: 'text-delta', id: 'b', delta: 'Bye.' })
  gathered.add({ type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{"a":1}' })
  gathered.add({ type: 'tool-call', toolCallId: 'd', toolName: 't', input: '{"a":' })
  gathered.add({ type: 'text-delta', id: 'b', delta: 'More.' })
  expect(JSON.parse(gathered.message('stop').json)).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'So' },
        { type: 'text', content: 'Hello you.' },
        { type: 'text', content: 'Bye.' },
        { type: 'tool_call', id: 'c', name: 't', arguments: { a: 1 } },
        { type: 'tool_call', id: 'd', name: 't', arguments: '{"a":' },
        { type: 'text', content: 'More.' },
      ],
      finish_reason: 'stop',
    },
  ])
})
