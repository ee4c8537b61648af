import { expect, test } from 'vitest'
import { counted, stage, start } from './stage.fixture.ts'

const on = stage()

test('twenty sessions are live on one page over HTTP/1.1, and one request at a time carries them all', async () => {
  const { page } = await on.open(`${await start(3).url}/?many=20`)
  const protocols = new Set<string>()
  const open = new Set<unknown>()
  let most = 0
  page.on('request', request => {
    if (!request.url().includes('/api/stream?')) return
    open.add(request)
    most = Math.max(most, open.size)
  })
  page.on('requestfailed', request => open.delete(request))
  page.on('requestfinished', request => open.delete(request))
  await page.getByRole('button', { name: 'Start all' }).click()
  // All at once: each has words, and none has ended.
  await page.waitForFunction(() => {
    const panes = [...document.querySelectorAll<HTMLElement>('.pane[data-status=streaming]')]
    return panes.length === 20 && panes.every(pane => pane.querySelector('.text')?.textContent !== '')
  })
  // Those that the sessions joined one after the other have made room for one that carries them all.
  await expect.poll(() => open.size).toBe(1)
  most = 1
  for (let number = 1; number <= 20; number++) {
    await page.locator(`.pane:nth-child(${number})[data-status=ready]`).waitFor()
  }
  expect(await page.locator('.pane .text').allTextContents()).toEqual(
    Array.from({ length: 20 }, (_, i) => counted(201 + i)),
  )
  const resources = await page.evaluate(() => performance.getEntriesByType('resource') as PerformanceResourceTiming[])
  for (const { nextHopProtocol } of resources) if (nextHopProtocol) protocols.add(nextHopProtocol)
  expect([...protocols]).toEqual(['http/1.1'])
  expect([most, open.size]).toEqual([1, 1])
})
