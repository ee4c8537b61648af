import { expect, test } from 'vitest'
import { counted, house, soon, stage, type Tab } from './stage.fixture.ts'

const on = stage()
const url = house(0.5)

/** Of what the panel says of the worker or the server: its process. */
async function pidOf({ page }: Tab, name: 'Server' | 'Worker'): Promise<number> {
  const link = page.getByRole('region', { name, exact: true })
  await link.locator('.link-state', { hasText: 'up' }).waitFor()
  return Number(/pid (\d+)/.exec((await link.textContent()) ?? '')?.[1])
}

/** Waits until so many faults of a kind are over and verified. */
const isOver = ({ page }: Tab, fault: string, count = 1) =>
  page
    .locator(`.fault-list [data-fault="${fault}"][data-state=over]`, { hasText: 'verified' })
    .nth(count - 1)
    .waitFor()

/** The counters, once all that this tab holds was compared with the log. */
async function counters({ page }: Tab): Promise<Record<string, string | null>> {
  await page.waitForFunction(() => {
    const [, upTo, head] = /Verified up to ([\d,]+) of ([\d,]+)/.exec(document.body.textContent ?? '') ?? []
    return upTo !== undefined && upTo === head && head !== '0'
  })
  const values = await page
    .locator('[data-counter]')
    .evaluateAll(all => all.map(one => [one.getAttribute('data-counter'), one.textContent]))
  return Object.fromEntries(values)
}

const FINE = { lost: '0', repeated: '0', differing: '0' }

test('the plug is pulled at every place, and nothing is lost or told twice', { timeout: 120_000 }, async () => {
  const tab = await on.open(url())
  await tab.say('Hello.', 'echo')
  await tab.hears('Hello.')
  const watcher = await on.open(tab.page.url())
  await tab.press('Inspect')
  await tab.page.getByRole('tab', { name: 'Faults' }).click()
  const [server, worker] = [await pidOf(tab, 'Server'), await pidOf(tab, 'Worker')]
  expect(server).not.toBe(worker)
  expect(await counters(tab)).toEqual(FINE)

  // The connection of this tab is cut, and slow, while an answer comes.
  await tab.say('1500', 'long')
  await tab.hears(' 50 ')
  await tab.press('Drop my connection')
  await isOver(tab, 'drop')
  await tab.page.getByText('300 ms', { exact: true }).click()
  await tab.page.locator('[data-fault=delay][data-state=over]').waitFor()
  await tab.page.getByText('off', { exact: true }).click()
  await tab.page.locator('[data-fault=delay][data-state=over]').nth(1).waitFor()
  await tab.page.locator('.message.agent > .text', { hasText: / 1500$/ }).waitFor()

  // Who does the work is killed in the midst of it: another takes it over.
  await tab.is('ready')
  await tab.say('1200')
  await tab.page.locator('.message.agent', { hasText: / 60 / }).nth(1).waitFor()
  await tab.press('Kill the worker')
  await tab.page.locator('.fault-list', { hasText: 'run taken over at' }).waitFor()
  await tab.page.locator('.message.agent > .text', { hasText: / 1200$/ }).waitFor()
  await tab.is('ready')
  await isOver(tab, 'kill-worker')
  const heir = await pidOf(tab, 'Worker')
  expect([heir > 0, heir === worker]).toEqual([true, false])
  expect(await pidOf(tab, 'Server')).toBe(server)

  // Who speaks to the page is killed, while the work goes on.
  await tab.say('1100')
  await tab.page.locator('.message.agent', { hasText: / 60 / }).nth(2).waitFor()
  await tab.press('Restart the server')
  await isOver(tab, 'restart-server')
  await tab.page.locator('.message.agent > .text', { hasText: / 1100$/ }).waitFor()
  await tab.is('ready')
  expect(await pidOf(tab, 'Server')).not.toBe(server)
  expect(await pidOf(tab, 'Worker')).toBe(heir)

  expect(await counters(tab)).toEqual(FINE)
  await tab.connectionIs('live')
  const answers = ['Hello.', counted(1500), counted(1200), counted(1100)]
  expect(await tab.answers()).toEqual(answers)
  // Who looked on in another tab, and who comes afterwards, has the same words.
  await watcher.is('ready')
  await soon(() => watcher.answers()).toEqual(answers)
  const late = await on.open(tab.page.url())
  await late.page.locator('.message.agent > .text', { hasText: / 1100$/ }).waitFor()
  expect(await late.answers()).toEqual(answers)
})

/** Has something happen to a line of each stream that a page opens before it says that the next are the inspector's. */
function meddle(what: 'drop' | 'change'): void {
  const { fetch } = window
  // There is none yet when the page begins.
  const page = () => document.documentElement.dataset
  window.fetch = async (...asked) => {
    const reply = await fetch(...asked)
    const { body, status, headers } = reply
    if (!String(asked[0]).includes('/api/stream?') || 'inspected' in page() || body === null) return reply
    let rest = ''
    const lines = new TransformStream<string, string>({
      transform(piece, out) {
        const all = (rest + piece).split('\n')
        rest = all.pop() ?? ''
        for (const line of all) {
          const isIt = line.includes('text-delta') && /[ "]60[ "]/.test(line)
          if (isIt) page()['meddled'] = what
          if (!isIt) out.enqueue(`${line}\n`)
          else if (what === 'change') out.enqueue(`${line.replace(/([ "])60(?=[ "])/, '$16O')}\n`)
        }
      },
    })
    const meddled = body.pipeThrough(new TextDecoderStream()).pipeThrough(lines).pipeThrough(new TextEncoderStream())
    return new Response(meddled, { status, headers })
  }
}

test('a hole in what the chat shows is counted and named, though the inspector has it all', {
  timeout: 60_000,
}, async () => {
  for (const [what, counter] of [
    ['drop', 'lost'],
    ['change', 'differing'],
  ] as const) {
    const tab = await on.open(url())
    await tab.page.addInitScript(meddle, what)
    await tab.page.reload()
    await tab.say('Hello.', 'echo')
    await tab.hears('Hello.')
    await tab.is('ready')
    await tab.page.evaluate(() => {
      document.documentElement.dataset['inspected'] = ''
    })
    await tab.press('Inspect')
    await tab.page.getByRole('tab', { name: 'Faults' }).click()
    expect(await counters(tab)).toEqual(FINE)
    await tab.say('120', 'long')
    await tab.hears(' 120')
    await tab.is('ready')
    await tab.page.locator(`[data-meddled=${what}]`).waitFor({ state: 'attached' })
    const verdict = tab.page.getByRole('region', { name: 'What was lost' })
    await verdict.getByRole('alert').waitFor()
    expect(await verdict.getByRole('alert').textContent()).toContain('“1 2 3 4 5 6')
    expect(await counters(tab)).toEqual({ ...FINE, [counter]: '1' })
    expect((await tab.answers()).at(-1)).not.toBe(counted(120))
    await tab.page.context().close()
  }
})

test('who looks at how it was can stop what goes on meanwhile, and not go on from nothing', async () => {
  const tab = await on.open(url())
  await tab.say('3000', 'long')
  await tab.hears(' 20 ')
  await tab.press('Inspect')
  const then = tab.page.getByRole('region', { name: 'The conversation as it was' })
  await tab.press('To the beginning')
  await then.getByText('As it was at 0').waitFor()
  expect(await then.getByRole('button', { name: 'Go on from here' }).isDisabled()).toBe(true)
  await then.getByRole('button', { name: 'Stop' }).click()
  await tab.is('ready')
  await then.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  await tab.press('One entry forward')
  await then.getByText('As it was at 1').waitFor()
  expect(await then.getByRole('button', { name: 'Go on from here' }).isDisabled()).toBe(false)
})
