import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listenInEmptyFolder } from '../guide-example.fixture.ts'
import { ask } from './guide-client.ts'
import { app } from './guide-server.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const page = read('../../docs/guide/migrate/ag-ui.md')

test.each(['guide-server.ts', 'guide-client.ts'])('the page shows %s as it is', name => {
  expect(page).toContain(`\`\`\`ts\n${read(`./${name}`)}\`\`\`\n`)
})

test('the code of the page works', async () => {
  const url = await listenInEmptyFolder(app)
  const api = `${url}/api/ag-ui/miller`
  await ask(api, 'thread', 'Sell some flour')
  const messages = await ask(api, 'thread', 'Sell more')
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'Sell some flour'],
    ['assistant', 'May I?'],
    ['tool', '{"sold":"flour"}'],
    ['assistant', 'Sold.'],
    ['user', 'Sell more'],
    ['assistant', 'May I?'],
    ['tool', '{"sold":"flour"}'],
    ['assistant', 'Sold.'],
  ])
})
