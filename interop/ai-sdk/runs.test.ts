import { aiSdkDialect, uiMessagesOf } from '@millrace/dialects/ai-sdk'
import { type UIMessage, validateUIMessages } from 'ai'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { connectionsOf, type RecordedRun, recordRun, replayOf, scenarios } from '../recorded-runs.fixture.ts'
import { chatOf, contentOf } from './ai-sdk-chat.fixture.ts'

const answerIn = ({ view, runId }: RecordedRun) => {
  const messages = view.messages.filter(message => message.runId === runId)
  const message = uiMessagesOf({ ...view, messages }).find(({ role }) => role === 'assistant')
  return contentOf(message as UIMessage | undefined)
}

test('the real client accepts every run, live and replayed, and shows our view', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const live = await chatOf(connectionsOf(aiSdkDialect.encoder(), run))
    expect(live.status).toBe(run.status === 'failed' ? 'error' : 'ready')
    expect(contentOf(live.lastMessage)).toEqual(answerIn(run))
    const late = await chatOf([replayOf(aiSdkDialect, run)], true)
    expect(contentOf(late.lastMessage)).toEqual(answerIn(run))
    await validateUIMessages({ messages: uiMessagesOf(run.view) })
  })
  await fc.assert(property, { numRuns: multiplied(60) })
})
