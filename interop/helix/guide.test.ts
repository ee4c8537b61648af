import { readFileSync } from 'node:fs'
import { createChat } from '@millrace/client'
import { helix } from '@millrace/dialects/helix'
import { expect, onTestFinished, test, vi } from 'vitest'
import { inEmptyFolder } from '../page.fixture.ts'
import { ask } from './guide-client.ts'
import { app } from './guide-server.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const page = read('../../docs/guide/migrate/helix.md')
const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)

test('the page has the code that is run here', () => {
  expect(blocks).toEqual([read('./guide-server.ts'), read('./guide-client.ts'), expect.any(String)])
})

test('a client of Helix talks to the server of the page, and so does our own', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  inEmptyFolder()
  const { url, close } = await app.listen({ port: 0 })
  onTestFinished(() => close())
  const api = `${url.replace(/\/$/, '')}/api/helix/miller`
  expect(await ask(api, 'mill', 'Sell some flour.')).toBe('Sold.')
  const chat = createChat({ connection: helix({ api }), session: 'other' })
  onTestFinished(chat.start())
  await chat.send('Sell some flour.')
  await expect.poll(() => chat.store.view().pendings.length).toBe(1)
  expect(blocks[2]).toContain("createChat({ connection: helix({ api: '/api/helix/miller' }) })")
})
