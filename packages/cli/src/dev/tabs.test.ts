import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TAB_CLOSED_MS, Tabs } from './tabs.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A fake response to a tab. */
function replyTo(tabs: Tabs, tab: string): EventEmitter {
  const response = new EventEmitter()
  tabs.track({ headers: { 'x-studio-tab': tab } } as unknown as IncomingMessage, response as unknown as ServerResponse)
  return response
}

test('ends the delay of a closed tab and keeps that of an open one', () => {
  const closed = vi.fn()
  const tabs = new Tabs({ old: 5 }, closed)
  const open = replyTo(tabs, 'open')
  const brief = replyTo(tabs, 'brief')
  tabs.delay('open', 1)
  tabs.delay('brief', 2)
  brief.emit('close')
  vi.advanceTimersByTime(TAB_CLOSED_MS - 1)
  expect(tabs.delays).toEqual({ old: 5, open: 1, brief: 2 })
  // A tab that reconnects in time is not closed.
  replyTo(tabs, 'brief')
  vi.advanceTimersByTime(TAB_CLOSED_MS)
  expect(tabs.delays).toEqual({ open: 1, brief: 2 })
  expect(closed).toHaveBeenCalledTimes(1)
  open.emit('close')
  vi.advanceTimersByTime(TAB_CLOSED_MS)
  expect(tabs.delays).toEqual({ brief: 2 })
})

test('closed tabs do not count towards the limit', () => {
  const tabs = new Tabs({}, () => {})
  for (let n = 0; n < 64; n++) expect(tabs.delay(`t${n}`, 1)).toBe(true)
  expect(tabs.delay('new', 1)).toBe(false)
  vi.advanceTimersByTime(TAB_CLOSED_MS)
  expect(tabs.delay('new', 1)).toBe(true)
})
