import { memoryStore } from '@millrace/log'
import { afterEach, expect, test } from 'vitest'
import { createRuntime, type Runtime } from '../api/runtime.ts'
import { agent } from '../define/agent.ts'
import { scriptedModel } from '../model/scripted-model.ts'

const prompts: unknown[] = []
const model = scriptedModel(({ options }) => {
  prompts.push(options.prompt)
  return { text: 'I see.' }
})
const helper = agent({ name: 'helper', model })
let runtime: Runtime

const createTestRuntime = async (): Promise<Runtime> => {
  runtime = createRuntime({ store: memoryStore(), agents: [helper], logger: { warn: () => {}, error: () => {} } })
  await runtime.manager.createStream('s')
  return runtime
}

afterEach(() => runtime.close())

const PNG = Buffer.from([0x89, 0x50, 0x0a, 0x0a, 0])

test('stores a file once per session, with its description', async () => {
  const { manager } = await createTestRuntime()
  const file = { data: PNG, mediaType: 'image/png', filename: 'a\nb.png' }
  const uploaded = await runtime.upload('s', file)
  expect(uploaded).toEqual({
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    url: `upload:${uploaded.hash}`,
    bytes: 5,
    mediaType: 'image/png',
    filename: 'a\nb.png',
  })
  expect(await runtime.upload('s', file)).toEqual(uploaded)
  expect(await runtime.uploaded('s', uploaded.hash)).toEqual(file)
  // The same bytes with another description are another file.
  const other = await runtime.upload('s', { data: PNG, mediaType: 'text/plain' })
  expect(await runtime.uploaded('s', other.hash)).toEqual({ data: PNG, mediaType: 'text/plain' })
  // It is neither a large value of an entry nor visible in other sessions.
  expect(await manager.blob('s', uploaded.hash)).toBeUndefined()
  await manager.createStream('t')
  expect(await runtime.uploaded('t', uploaded.hash)).toBeUndefined()
  expect(await runtime.uploaded('s', `../${uploaded.hash}`)).toBeUndefined()
})

test('rejects an upload to a missing session', async () => {
  await createTestRuntime()
  await expect(runtime.upload('nowhere', { data: PNG, mediaType: 'image/png' })).rejects.toMatchObject({
    code: 'session_unknown',
  })
})

test('sends the bytes of a referenced file to the model, also in forks, and logs only its URL', async () => {
  await createTestRuntime()
  const { url } = await runtime.upload('s', { data: PNG, mediaType: 'image/png', filename: 'a.png' })
  const parts = [{ type: 'file', mediaType: 'image/png', url }] as const
  await (await runtime.start({ agent: helper, session: 's', input: { parts } })).result()
  const fork = await runtime.fork('s')
  await (await runtime.start({ agent: helper, session: fork, input: 'And now?' })).result()
  const file = {
    type: 'file',
    mediaType: 'image/png',
    filename: 'a.png',
    data: { type: 'data', data: Buffer.from(PNG).toString('base64') },
  }
  expect(prompts).toHaveLength(2)
  for (const prompt of prompts) expect(prompt).toContainEqual({ role: 'user', content: [file] })
  const { view } = await runtime.view('s')
  expect(view.messages[0]?.parts).toMatchObject([{ type: 'file', url }])
})

test('fails a run that refers to a missing file, with its hash in the error', async () => {
  await createTestRuntime()
  const parts = [{ type: 'file', mediaType: 'image/png', url: 'upload:abc' }] as const
  const run = await runtime.start({ agent: helper, session: 's', input: { parts } })
  const { status, error } = await run.result()
  expect(status).toBe('failed')
  expect(error).toMatchObject({ code: 'upload_unknown', message: expect.stringContaining('upload:abc') })
})
