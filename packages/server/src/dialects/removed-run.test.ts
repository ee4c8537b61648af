// A run whose request is removed before it starts: its stream ends as aborted in every dialect, although the log has no entry for the end.

import { type Decoder, EventReader } from '@millrace/dialects'
import { agUiDialect } from '@millrace/dialects/ag-ui'
import { aiSdkDialect } from '@millrace/dialects/ai-sdk'
import { helixDialect } from '@millrace/dialects/helix'
import { kortyxDialect } from '@millrace/dialects/kortyx'
import { muiDialect } from '@millrace/dialects/mui'
import { tanstackAgUiDialect, tanstackDialect } from '@millrace/dialects/tanstack'
import { memoryStore } from '@millrace/log'
import { expect, onTestFinished, test } from 'vitest'
import { millrace } from '../app/app.ts'
import { heldAgent } from '../stream/held-agent.fixture.ts'
import { POST_REQUESTS, type PostedMessage } from './requests.fixture.ts'

const DECODERS: Readonly<Record<string, { decoder(): object }>> = {
  'ai-sdk': aiSdkDialect,
  mui: muiDialect,
  'ag-ui': agUiDialect,
  'tanstack since 0.10': tanstackAgUiDialect,
  'tanstack up to 0.2': tanstackDialect,
  kortyx: kortyxDialect,
  helix: helixDialect,
}

test.each(Object.entries(POST_REQUESTS))(
  '%s: a run that is removed from the queue is aborted',
  async (name, request) => {
    const held = heldAgent()
    const app = millrace({ store: memoryStore(), agents: [held.agent], authorize: () => 'ann' })
    onTestFinished(() => app.close())
    const runtime = await app.runtime()
    const post = (message: PostedMessage) => {
      const { path, body, headers = {} } = request({ ...message, agent: held.agent.name })
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }
      return app.fetch(new Request(`http://localhost${path}`, init))
    }
    const first = await post({ session: 's', text: 'a' })
    const second = await post({ session: 's', text: 'b', before: [{ id: 'a', role: 'user', text: 'a' }] })
    expect([first.status, second.status]).toEqual([200, 200])
    const { view } = await runtime.view('s')
    await runtime.stop('s', view.requests.at(-1)?.runId as string)
    const events = new EventReader('sse')
    const decoder = DECODERS[name]?.decoder() as Decoder<unknown>
    const decoded = [...events.push(await second.text()), ...events.end()].flatMap(({ data }) =>
      data === '[DONE]' ? [] : decoder.decode(JSON.parse(data)),
    )
    held.release()
    await first.text()
    expect({ last: decoded.at(-1)?.chunk, status: decoder.status }).toEqual({
      last: { type: 'run-finished', status: 'aborted' },
      status: 'aborted',
    })
  },
)
