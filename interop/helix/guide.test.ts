import { readFileSync } from 'node:fs'
import { createChat } from '@millrace/client'
import { helix } from '@millrace/dialects/helix'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listenInEmptyFolder } from '../guide-example.fixture.ts'
import { ask } from './guide-client.ts'
import { app } from './guide-server.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const page = read('../../docs/guide/migrate/helix.md')
const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)

test('the page shows the code that runs here', () => {
  expect(blocks).toEqual([read('./guide-server.ts'), read('./guide-client.ts'), expect.any(String)])
})

test('a Helix client and our own client work with the server of the page', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const url = await listenInEmptyFolder(app)
  const api = `${url}/api/helix/miller`
  expect(await ask(api, 'mill', 'Sell some flour.')).toBe('Sold.')
  const chat = createChat({ connection: helix({ api }), session: 'other' })
  onTestFinished(chat.start())
  await chat.sendMessage('Sell some flour.')
  await expect.poll(() => chat.store.view().pendings.length).toBe(1)
  expect(blocks[2]).toContain("createChat({ connection: helix({ api: '/api/helix/miller' }) })")
})
