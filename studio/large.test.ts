import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeRecording } from '@millrace/client/log'
import { agent, memoryStore, scriptedModel } from 'millrace'
import { expect, test } from 'vitest'
import { folder } from '../scripts/folder.fixture.ts'
import { serve } from './demo.fixture.ts'
import { logOf, storeLog } from './long-log.fixture.ts'
import { testTabs } from './tabs.fixture.ts'

const tabs = testTabs()

const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: lastText })) })

test('opens, scrolls, searches and travels a log of 100,000 entries with few rows in the DOM', async () => {
  const log = logOf(100, 989)
  expect(log).toHaveLength(100_000)
  const file = join(folder({}), 'large.jsonl')
  writeFileSync(file, [...encodeRecording({ sessionId: 'large', entries: log })].join(''))
  const tab = await tabs.open(`${await serve({ agents: [echo] })}/inspect/`)
  await tab.page.getByRole('button', { name: 'Choose file' }).waitFor()
  await tab.page.setInputFiles('input[type=file]', file)
  const table = tab.page.getByRole('grid', { name: 'Log entries' })
  await table.waitFor()
  await expect.poll(() => table.getAttribute('aria-rowcount')).toBe('100001')
  const rows = table.locator('[data-sequence]')
  const row = (sequence: number) => table.locator(`[data-sequence="${sequence}"]`)
  const few = async () => expect(await rows.count()).toBeLessThan(100)
  const scroll = (part: number) =>
    tab.page.locator('.entries .table').evaluate((pane, part) => {
      pane.scrollTop = (pane.scrollHeight - pane.clientHeight) * part
    }, part)
  await row(100_000).waitFor()
  await few()
  await scroll(0)
  await row(1).waitFor()
  await few()
  await scroll(0.5)
  await row(50_000).waitFor()
  await few()
  await scroll(1)
  await row(100_000).waitFor()
  await few()
  // The drawing does not grow with the log either.
  await expect.poll(() => tab.page.locator('.timeline svg *').count()).toBeLessThan(3_000)

  const wanted = 'Answer 77:'
  const found = log.filter(entry => JSON.stringify(entry).includes(wanted))
  await tab.page.getByRole('searchbox', { name: 'Search entries' }).fill(wanted)
  await expect.poll(() => table.getAttribute('aria-rowcount')).toBe(String(found.length + 1))
  const first = found[0]?.sequence ?? 0
  await row(first).click()
  await tab.page.locator('.past .banner', { hasText: `entry ${first} of` }).waitFor()
  await tab.page.locator('.past .message.agent > .text', { hasText: /^Answer 77:$/ }).waitFor()
  const detail = tab.page.getByRole('region', { name: `Entry ${first}` })
  await expect.poll(() => detail.locator('ins').allTextContents()).toContainEqual(expect.stringContaining(wanted))
})

const RUNS = 2_500

test('shows the latest of 5,000 messages first, loads older ones on scroll, and keeps few in the DOM', async () => {
  const store = memoryStore()
  await storeLog(store, 'many', logOf(RUNS, 12))
  const tab = await tabs.open(`${await serve({ agents: [echo], store })}/?session=many`)
  await tab.waitForText(`Answer ${RUNS}: 1 2 3`)
  const few = async () => expect(await tab.page.locator('.message').count()).toBeLessThan(300)
  await few()
  // Scrolls up again and again, while older messages arrive.
  const pane = tab.page.locator('.transcript')
  const numbers = async () => (await tab.userTexts()).map(text => Number(/\d+/.exec(text)))
  for (let wanted = RUNS - 100; wanted > RUNS - 400; wanted -= 100) {
    await expect
      .poll(async () => {
        await pane.evaluate(pane => pane.scrollTo(0, 0))
        return Math.min(...(await numbers()))
      })
      .toBeLessThan(wanted)
    await few()
  }
  // The messages are in order, each once.
  const shown = await numbers()
  expect(shown).toEqual([...new Set(shown)].sort((a, b) => a - b))
  await tab.press('Scroll to bottom')
  await tab.waitForText(`Answer ${RUNS}: 1 2 3`)
  await few()
  await tab.sendMessage('The end.', 'echo')
  await tab.waitForText('The end.')
  await few()
})
