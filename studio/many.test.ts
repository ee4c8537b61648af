import { agent } from 'millrace'
import { expect, test } from 'vitest'
import { serve } from './demo.fixture.ts'
import { pausedModel } from './paused-model.fixture.ts'
import { countTo, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()

test('twenty sessions stream to one page over HTTP/1.1, through one request at a time', async () => {
  const { model, resume } = pausedModel(({ lastText }) => ({ text: countTo(Number(lastText)) }), 100)
  const { page } = await tabs.open(`${await serve({ agents: [agent({ name: 'long', model })] })}/?many=20`)
  const open = new Set<unknown>()
  let max = 0
  page.on('request', request => {
    if (!request.url().includes('/api/stream?')) return
    open.add(request)
    max = Math.max(max, open.size)
  })
  page.on('requestfailed', request => open.delete(request))
  page.on('requestfinished', request => open.delete(request))
  await page.getByRole('button', { name: 'Start all' }).click()
  const texts = page.locator('.pane[data-status=streaming] .text', { hasText: /\d/ })
  await expect.poll(() => texts.count()).toBe(20)
  // The sessions joined one after the other, each with a new request. The last one carries them all.
  await expect.poll(() => open.size).toBe(1)
  max = 1
  resume()
  await expect.poll(() => page.locator('.pane[data-status=ready]').count()).toBe(20)
  await expect
    .poll(() => page.locator('.pane .text').allTextContents())
    .toEqual(Array.from({ length: 20 }, (_, i) => countTo(201 + i)))
  const resources = await page.evaluate(() => performance.getEntriesByType('resource') as PerformanceResourceTiming[])
  const protocols = new Set(resources.flatMap(({ nextHopProtocol }) => nextHopProtocol || []))
  expect([...protocols]).toEqual(['http/1.1'])
  expect([max, open.size]).toEqual([1, 1])
})
