// @vitest-environment jsdom
import { createConnection } from '@millrace/client'
import { StrictMode } from 'react'
import { expect, test } from 'vitest'
import { mount, renders } from '../dom.fixture.tsx'
import { echo, serve } from '../in-process-server.fixture.ts'
import { ChatProvider, useChat } from '../index.ts'
import { type Recording, type SessionLog, useLog, useLogState } from './index.ts'

let log: SessionLog
const Log = (options: Parameters<typeof useLog>[0]) => {
  renders.count('log')
  log = useLog(options)
  const { count, status } = useLogState(log)
  return (
    <i>
      {count} {status}
    </i>
  )
}

const Send = () => {
  const { sendMessage, status } = useChat()
  return (
    <button type="button" onClick={() => void sendMessage('One two three')}>
      {status}
    </button>
  )
}

test('follows a log entry by entry while it is mounted', async () => {
  const { api, fetch } = serve(echo)
  const connection = createConnection({ api, fetch, includeDiscarded: true })
  const page = mount(
    <StrictMode>
      <ChatProvider connection={connection} agent="echo" session="s">
        <Send />
      </ChatProvider>
      <Log session="s" connection={connection} />
    </StrictMode>,
  )
  page.element.querySelector('button')?.click()
  await expect.poll(() => log.entries.at(-1)?.chunk.type).toBe('run-finished')
  await expect.poll(() => page.text).toMatch(/ready\d+ live/)
  await expect.poll(() => log.state.count).toBe(log.entries.length)
  expect(log.viewAt(log.state.head).messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  page.unmount()
  await expect.poll(() => log.state.status).toBe('idle')
})

test('shows a recording', () => {
  const recording: Recording = { sessionId: 's', entries: [] }
  const page = mount(<Log recording={recording} />)
  expect(page.text).toBe('0 idle')
  const first = log
  page.render(<Log recording={recording} />)
  expect(log).toBe(first)
  page.render(<Log recording={{ ...recording }} />)
  expect(log).not.toBe(first)
})
