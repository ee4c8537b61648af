import { AbstractAgent, type BaseEvent, type Message, type RunAgentInput } from '@ag-ui/client'
import { type AgUiMessage, agUiDialect, aguiMessagesOf } from '@millrace/dialects/ag-ui'
import * as fc from 'fast-check'
import { from, type Observable } from 'rxjs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { connectionsOf, recordRun, scenarios } from '../recorded-runs.fixture.ts'
import { normalized } from './normalized.fixture.ts'

/** An agent without a connection: passes given events through AG-UI's own pipeline. */
class Listener extends AbstractAgent {
  events: readonly BaseEvent[] = []

  run(_input: RunAgentInput): Observable<BaseEvent> {
    return from(JSON.parse(JSON.stringify(this.events)) as BaseEvent[])
  }

  /** Processes one connection, which answers the interrupts of the last one. */
  async process(events: readonly unknown[]): Promise<void> {
    this.events = events as readonly BaseEvent[]
    const resume = this.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }))
    await this.runAgent(resume.length > 0 ? { resume } : {})
  }
}

test('every run, live and replayed, passes the verification of AG-UI and results in the messages and state of the view', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const { runId, sessionId, replay, status, view } = run
    const messages = aguiMessagesOf(run.before)
    const echo = { threadId: sessionId, runId: 'theirs' }
    const userMessage = aguiMessagesOf(view).findLast(({ role }) => role === 'user') as AgUiMessage

    const live = new Listener({ threadId: sessionId, initialMessages: [...messages, userMessage] as Message[] })
    const encoder = agUiDialect.encoder({ runId, echo, before: { messages } })
    for (const events of connectionsOf(encoder, run)) await live.process(events)
    expect(normalized(live.messages)).toEqual(normalized(aguiMessagesOf(view)))
    expect(live.state).toEqual(view.state ?? {})
    // AG-UI clients keep the interrupts from before a failed run.
    if (status !== 'failed') expect(live.pendingInterrupts).toEqual([])

    const late = new Listener({ threadId: sessionId })
    const secondEncoder = agUiDialect.encoder({ runId, echo, before: { messages, isNew: true } })
    await late.process([...replay.flatMap(entry => secondEncoder.encode(entry)), ...secondEncoder.end(status)])
    expect(normalized(late.messages)).toEqual(normalized(aguiMessagesOf(view)))
    expect(late.state).toEqual(view.state ?? {})
    expect(warn.mock.calls).toEqual([])
  })
  await fc.assert(property, { numRuns: multiplied(60) })
})
