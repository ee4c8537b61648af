import { expect, test } from 'vitest'
import { demoProcesses } from './demo.fixture.ts'
import { countTo, type Tab, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
// At this pace `long` says 50 words in a second.
const url = demoProcesses(4)

/** The process id that the panel shows for the worker or the server. */
async function pidOf({ page }: Tab, name: 'Server' | 'Worker'): Promise<number> {
  const link = page.getByRole('region', { name, exact: true })
  await link.locator('.link-state', { hasText: 'up' }).waitFor()
  return Number(/pid (\d+)/.exec((await link.textContent()) ?? '')?.[1])
}

/** Waits until this many faults of a kind are over and verified. */
const isOver = ({ page }: Tab, fault: string, count = 1) =>
  page
    .locator(`.fault-list [data-fault="${fault}"][data-state=done]`, { hasText: 'Verified' })
    .nth(count - 1)
    .waitFor()

/** The counters, once all entries of this tab were compared with the log. */
async function counters({ page }: Tab): Promise<Record<string, string | null>> {
  await page.waitForFunction(() => {
    const [, upTo, head] = /Verified ([\d,]+) of ([\d,]+)/.exec(document.body.textContent ?? '') ?? []
    return upTo !== undefined && upTo === head && head !== '0'
  })
  const values = await page
    .locator('[data-counter]')
    .evaluateAll(elements => elements.map(element => [element.getAttribute('data-counter'), element.textContent]))
  return Object.fromEntries(values)
}

const FINE = { lost: '0', repeated: '0', differing: '0' }

/** Waits for a part of the answer, and stops it. */
async function stop(tab: Tab): Promise<void> {
  await tab.hasCounted(await tab.hasCounted(0))
  await tab.press('Stop')
  await tab.is('ready')
}

test('nothing is lost or shown twice when the connection, the worker or the server fails', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Hello.', 'echo')
  await tab.waitForText('Hello.')
  const watcher = await tabs.open(tab.page.url())
  await tab.press('Inspect')
  await tab.page.getByRole('tab', { name: 'Faults' }).click()
  const [server, worker] = [await pidOf(tab, 'Server'), await pidOf(tab, 'Worker')]
  expect(server).not.toBe(worker)
  expect(await counters(tab)).toEqual(FINE)

  // The connection of this tab is cut, and then slow, during an answer.
  await tab.sendMessage('100000', 'long')
  await tab.hasCounted(10)
  await tab.press('Drop connection')
  await isOver(tab, 'drop')
  await tab.page.getByText('300 ms', { exact: true }).click()
  await tab.page.locator('[data-fault=delay][data-state=done]').waitFor()
  await tab.page.getByText('Off', { exact: true }).click()
  await tab.page.locator('[data-fault=delay][data-state=done]').nth(1).waitFor()
  await stop(tab)

  // The worker is killed during its run: another takes it over.
  await tab.sendMessage('100000')
  await tab.page.locator('.message.agent', { hasText: / 10 / }).nth(1).waitFor()
  await tab.press('Kill worker')
  await tab.page.locator('.fault-list', { hasText: 'taken over at entry' }).waitFor()
  await isOver(tab, 'kill-worker')
  await stop(tab)
  const newPid = await pidOf(tab, 'Worker')
  expect([newPid > 0, newPid === worker]).toEqual([true, false])
  expect(await pidOf(tab, 'Server')).toBe(server)

  // The server is killed, while the worker continues.
  await tab.sendMessage('100000')
  await tab.page.locator('.message.agent', { hasText: / 10 / }).nth(2).waitFor()
  await tab.press('Restart server')
  await isOver(tab, 'restart-server')
  await stop(tab)
  expect(await pidOf(tab, 'Server')).not.toBe(server)
  expect(await pidOf(tab, 'Worker')).toBe(newPid)

  // A run after all faults ends by itself.
  await tab.sendMessage('30')
  await tab.page.locator('.message.agent > .text', { hasText: / 30$/ }).waitFor()
  await tab.is('ready')
  expect(await counters(tab)).toEqual(FINE)
  await tab.connectionIs('live')
  const answers = await tab.answers()
  expect([answers[0], answers[4], answers.length]).toEqual(['Hello.', countTo(30), 5])
  for (const answer of answers.slice(1, 4)) expect(countTo(100_000).startsWith(answer)).toBe(true)
  // A tab that was open all the time and one that is opened now show the same.
  await watcher.is('ready')
  await expect.poll(() => watcher.answers()).toEqual(answers)
  const late = await tabs.open(tab.page.url())
  await expect.poll(() => late.answers()).toEqual(answers)
})

/** Drops or changes a line of each stream of the page, up to when the test marks the next streams as those of the inspector. */
function tamper(change: 'drop' | 'change'): void {
  const { fetch } = window
  // There is none yet when the page begins.
  const page = () => document.documentElement.dataset
  window.fetch = async (...args) => {
    const reply = await fetch(...args)
    const { body, status, headers } = reply
    if (!String(args[0]).includes('/api/stream?') || 'inspected' in page() || body === null) return reply
    let rest = ''
    const lines = new TransformStream<string, string>({
      transform(piece, out) {
        const all = (rest + piece).split('\n')
        rest = all.pop() ?? ''
        for (const line of all) {
          const isIt = line.includes('text-delta') && /[ "]60[ "]/.test(line)
          if (isIt) page()['meddled'] = change
          if (!isIt) out.enqueue(`${line}\n`)
          else if (change === 'change') out.enqueue(`${line.replace(/([ "])60(?=[ "])/, '$16O')}\n`)
        }
      },
    })
    const meddled = body.pipeThrough(new TextDecoderStream()).pipeThrough(lines).pipeThrough(new TextEncoderStream())
    return new Response(meddled, { status, headers })
  }
}

test('counts and names an entry that the chat lost or changed, although the inspector has all entries', async () => {
  for (const [change, counter] of [
    ['drop', 'lost'],
    ['change', 'differing'],
  ] as const) {
    const tab = await tabs.open(url())
    await tab.page.addInitScript(tamper, change)
    await tab.page.reload()
    await tab.sendMessage('Hello.', 'echo')
    await tab.waitForText('Hello.')
    await tab.is('ready')
    await tab.page.evaluate(() => {
      document.documentElement.dataset['inspected'] = ''
    })
    await tab.press('Inspect')
    await tab.page.getByRole('tab', { name: 'Faults' }).click()
    expect(await counters(tab)).toEqual(FINE)
    await tab.sendMessage('80', 'long')
    await tab.waitForText(' 80')
    await tab.is('ready')
    await tab.page.locator(`[data-meddled=${change}]`).waitFor({ state: 'attached' })
    const verification = tab.page.getByRole('region', { name: 'Verification' })
    await verification.getByRole('alert').waitFor()
    await expect.poll(() => verification.getByRole('alert').textContent()).toContain('“1 2 3 4 5 6')
    expect(await counters(tab)).toEqual({ ...FINE, [counter]: '1' })
    await expect.poll(async () => (await tab.answers()).at(-1)).not.toBe(countTo(80))
  }
})

test('an earlier state offers to stop the run, but not to fork from an empty chat', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('100000', 'long')
  await tab.waitForText(' 20 ')
  await tab.press('Inspect')
  const then = tab.page.getByRole('region', { name: 'Conversation at this point' })
  await tab.press('Go to start')
  await then.getByText('Viewing entry 0').waitFor()
  await expect.poll(() => then.getByRole('button', { name: 'Fork from here' }).isDisabled()).toBe(true)
  await then.getByRole('button', { name: 'Stop' }).click()
  await tab.is('ready')
  await then.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  await tab.press('Next entry')
  await then.getByText('Viewing entry 1').waitFor()
  await expect.poll(() => then.getByRole('button', { name: 'Fork from here' }).isDisabled()).toBe(false)
})
