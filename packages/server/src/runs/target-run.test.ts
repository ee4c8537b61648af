import { memoryStore, type Ticket } from '@millrace/log'
import { EMPTY_TICKET } from '@millrace/log/internal'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { echo, request, testApp } from '../app/test-app.fixture.ts'
import { activeRunId, currentRunId, latestRunId } from './target-run.ts'

const run = { runId: 'open', program: 'agent:echo@1', paused: false }
const requests = [
  { runId: 'first', program: 'agent:echo@1' },
  { runId: 'second', program: 'agent:echo@1' },
]
const last = { runId: 'ended', status: 'completed' } as const
const ticket = (changes: Partial<Ticket>): Ticket => ({ ...EMPTY_TICKET, ...changes })

describe('a request without a run id', () => {
  it.each([
    ['an idle session without runs', {}, undefined, undefined, undefined],
    ['an idle session with an ended run', { last }, undefined, 'ended', 'ended'],
    ['a session with queued requests', { requests }, 'first', undefined, 'first'],
    ['a session with queued requests after an ended run', { requests, last }, 'first', 'ended', 'first'],
    ['a session with an open run', { run, requests, last }, 'open', 'open', 'open'],
    ['a session with a paused run', { run: { ...run, paused: true }, last }, 'open', 'open', 'open'],
  ])('applies to the active, latest or current run of %s', (_, changes, active, latest, current) => {
    const { run, requests, last } = ticket(changes)
    expect(activeRunId({ run, requests })).toBe(active)
    expect(latestRunId({ run, last })).toBe(latest)
    expect(currentRunId({ run, requests, last })).toBe(current)
  })
})

/** Requests an approval, so that its run stays open. */
const asks = agent({
  name: 'asks',
  model: scriptedModel([{ calls: [{ name: 'send', input: {}, id: 'send' }] }, { text: 'Done.' }]),
  tools: [tool({ name: 'send', inputSchema: z.object({}), approval: true, execute: () => 'sent' })],
})

describe('every stop route', () => {
  const paths = [
    '/api/sessions/s/stop',
    '/api/ai-sdk/asks/s/stop',
    '/api/ag-ui/asks/s/stop',
    '/api/helix/asks/interrupt',
  ]

  it.each(paths)('%s stops the open run, and reports an idle session without an error', async path => {
    const { app } = testApp({ store: memoryStore(), agents: [echo, asks] })
    const started = await app.fetch(request('/api/sessions/s/runs', { agent: 'asks', input: 'Go', runId: 'r1' }))
    await started.text()
    const stop = () => app.fetch(request(path, { sessionId: path.includes('helix') ? 's' : undefined }))
    expect((await stop()).status).toBe(200)
    const { manager } = await app.runtime()
    await expect.poll(async () => (await manager.getInfo('s'))?.ticket.last).toMatchObject({ runId: 'r1' })
    const again = await stop()
    expect(again.status).toBe(200)
    if (!path.includes('helix')) expect(await again.json()).toEqual({ stopped: false })
    else expect(await again.json()).toMatchObject({ runId: 'r1' })
  })
})
