// Runs without document and window, as on a server.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderToString } from 'react-dom/server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ChatProvider, useChat, useMessageIds, useStructuredStreams } from './index.ts'

beforeEach(() => {
  vi.spyOn(console, 'error')
  vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('no network'))
})
afterEach(() => vi.restoreAllMocks())

const Shown = () => {
  const { status, messages } = useChat()
  return `${status} ${messages.length} ${useMessageIds().length} ${useStructuredStreams().items.length}`
}

test('renders on a server without requests or React warnings', () => {
  expect(typeof document).toBe('undefined')
  const html = renderToString(
    <ChatProvider agent="echo" session="s">
      <Shown />
    </ChatProvider>,
  )
  expect(html).toBe('ready 0 0 0')
  expect(fetch).not.toHaveBeenCalled()
  expect(console.error).not.toHaveBeenCalled()
})

test('is a client component in a server component', () => {
  expect(readFileSync(join(import.meta.dirname, 'index.ts'), 'utf8')).toMatch(/^'use client'\n/)
})
