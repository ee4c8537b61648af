// Servers of providers that hang, reached through the packages of the providers.

import { describe, expect, test } from 'vitest'
import { AgentHarness, chunksOf } from '../../model/model-run.fixture.ts'
import {
  afterHeaders,
  beforeHeaders,
  commentsWithoutEnd,
  completeBody,
  type Handle,
  hangingServer,
  midBody,
  SILENCE_LIMITS as modelLimits,
  SilenceTimers,
} from './hanging-server.fixture.ts'
import { PROVIDERS } from './providers.fixture.ts'

const WORDS = ['It ', 'is ', 'warm ', 'in ', 'Ulm.']
const TEXT = WORDS.join('')

describe.each(PROVIDERS)('$name', ({ model, wire }) => {
  const body = wire.text(WORDS)
  const half = body.indexOf('warm')

  const HANGS: Record<string, readonly [Handle, keyof typeof modelLimits]> = {
    'before the headers': [beforeHeaders, 'firstPartMs'],
    'after the headers': [afterHeaders, 'firstPartMs'],
    'in the middle of an answer': [midBody(body, half), 'idleMs'],
    'in the middle of an answer, but sends comments': [commentsWithoutEnd(body, half), 'idleMs'],
  }
  for (const [name, [handle, option]] of Object.entries(HANGS)) {
    test(`retries a server that hangs ${name}, and closes its connection`, async () => {
      const server = await hangingServer(handle, completeBody(body))
      const timers = new SilenceTimers()
      const harness = new AgentHarness(model(server.url), { modelLimits }, { timers })
      const handled = server.handled()
      const running = harness.run('How warm is it?')
      await handled
      await timers.end(option)
      const { result, entries } = await running
      expect(result).toMatchObject({ status: 'completed', text: TEXT })
      const reasons = chunksOf(entries, 'step-discarded').map(({ reason }) => reason)
      expect(reasons).toEqual(reasons.map(() => 'provider_timeout'))
      expect(server.closed).toHaveLength(2)
      await server.closed[0]
      await harness.close()
    })

    test(`fails the run if the server hangs ${name} each time`, async () => {
      const server = await hangingServer(handle)
      const timers = new SilenceTimers()
      const harness = new AgentHarness(model(server.url), { modelLimits, maxRetries: 1 }, { timers })
      const first = server.handled()
      const running = harness.run('How warm is it?')
      await first
      const second = server.handled()
      await timers.end(option)
      await second
      await timers.end(option)
      const { result } = await running
      expect(result).toMatchObject({ status: 'failed', error: { code: 'provider_timeout', retryable: true } })
      expect(result.error?.message).toContain(`modelLimits.${option}`)
      expect(server.closed).toHaveLength(2)
      await Promise.all(server.closed)
      await harness.close()
    })
  }
})
