import { readFileSync } from 'node:fs'
import { type Recording, RecordingDecoder } from '@millrace/client/log'
import { type Entry, foldLog, type View } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { demoServer, setPace } from './demo.fixture.ts'
import { type Tab, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

/** The text of the file that the page saves. */
async function exported({ page }: Tab): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export', exact: true }).click(),
  ])
  return readFileSync(await download.path(), 'utf8')
}

function recordingOf(text: string): Recording {
  const decoder = new RecordingDecoder()
  decoder.push(text)
  return decoder.end()
}

const inspectorOf = (tab: Tab): string =>
  `${url()}/inspect/${encodeURIComponent(new URL(tab.page.url()).searchParams.get('session') ?? '')}`

/** Moves to a sequence with the slider. */
async function travel({ page }: Tab, sequence: number): Promise<void> {
  await page.getByRole('slider').first().fill(String(sequence))
  await page.locator('.past .banner', { hasText: `entry ${sequence} of` }).waitFor()
}

/** Normalized, non-empty texts. */
const words = (texts: readonly string[]): string[] =>
  texts.map(text => text.replaceAll(/\s+/g, ' ').trim()).filter(text => text !== '')

const shown = async ({ page }: Tab): Promise<string[]> => {
  // Queued messages are not part of the conversation yet.
  const user = '.past .message.user:not([data-status=sending]) .text'
  return words(await page.locator(`${user}, .past .message.agent > .text`).allTextContents())
}

const folded = ({ messages }: View): string[] =>
  words(
    messages
      .filter(({ parent }) => parent === undefined)
      .flatMap(({ parts }) => parts.map(part => (part.type === 'text' ? part.text : ''))),
  )

/** Adds a discarded attempt and a rewind. */
async function discardAndRewind(tab: Tab): Promise<void> {
  // At this pace the first attempt fails after half a second, and the inspector has received its text.
  setPace(1)
  await tab.sendMessage('Hello.', 'flaky')
  await tab.waitForText('two attempts to answer.')
  await tab.is('ready')
  await tab.sendMessage('Frist.', 'echo')
  await tab.waitForText('Frist.')
  await tab.is('ready')
  await tab.page.locator('.message.user', { hasText: 'Frist.' }).getByRole('button', { name: 'Edit' }).click()
  await tab.page.fill('.edit textarea', 'First.')
  await tab.page.keyboard.press('Enter')
  await tab.waitForText('First.')
  await tab.is('ready')
}

test('timeline, entries, conversation and state show the fold of the log up to the chosen entry', async () => {
  const chat = await tabs.open(url())
  await chat.sendMessage('Mills', 'team')
  await chat.waitForText('In short')
  await chat.is('ready')
  const tab = await tabs.open(inspectorOf(chat))
  await tab.waitForText('In short')
  // Only an open page receives discarded entries: they are not sent again.
  await discardAndRewind(chat)
  await tab.waitForText('First.')
  const { entries } = recordingOf(await exported(tab))
  const of = (type: Entry['chunk']['type']) => entries.filter(({ chunk }) => chunk.type === type)
  const at = (type: Entry['chunk']['type']) => of(type)[0]?.sequence ?? 0
  const discard = at('step-discarded')
  const rewind = at('rewind')
  expect([discard, rewind].every(sequence => sequence > 0)).toBe(true)

  // Sub-agents have lanes. Discarded and rewound parts are marked.
  const timeline = tab.page.getByRole('region', { name: 'Timeline' })
  const lanes = await timeline.locator('.names li').allTextContents()
  for (const name of ['researcher', 'critic', 'librarian']) {
    expect(lanes.some(lane => lane.includes(name))).toBe(true)
  }
  for (const marker of ['discard', 'rewind', 'commit', 'prompt']) {
    await expect
      .poll(async () => [marker, (await timeline.locator(`.lane-chart .marker.${marker}`).count()) > 0])
      .toEqual([marker, true])
  }
  await expect.poll(() => timeline.locator('.lane-chart .discarded').count()).toBeGreaterThan(0)
  await expect.poll(() => timeline.locator('.lane-chart .cut').count()).toBeGreaterThan(0)

  const head = entries.at(-1)?.sequence ?? 0
  const viewAt = (place: number) => foldLog(entries.filter(({ sequence }) => sequence <= place)).view()
  // The entry before still shows the text that is discarded or rewound.
  for (const [sequence, text] of [
    [discard, 'You said:'],
    [rewind, 'Frist.'],
  ] as const) {
    const isShown = [sequence - 1, sequence].map(one => folded(viewAt(one)).some(line => line.startsWith(text)))
    expect(isShown).toEqual([true, false])
  }
  const state = tab.page.getByRole('region', { name: 'State at this point' })
  const sequences = [1, 5, at('state-patch'), Math.floor(head / 3), discard - 1, discard, rewind - 1, rewind, head - 1]
  for (const sequence of sequences) {
    const view = viewAt(sequence)
    await tab.page.getByRole('tab', { name: 'Conversation' }).click()
    await travel(tab, sequence)
    await expect.poll(() => shown(tab)).toEqual(folded(view))
    await tab.page.getByRole('tab', { name: 'State' }).click()
    const { findings = [], doubts = [] } = (view.state ?? {}) as { findings?: string[]; doubts?: string[] }
    const text = (await state.textContent()) ?? ''
    for (const line of ['Known: Mills', 'Uncertain: Mills']) {
      expect([sequence, line, text.includes(line)]).toEqual([sequence, line, [...findings, ...doubts].includes(line)])
    }
    for (const { program = '', status } of view.runs) expect(text).toMatch(new RegExp(`${program}[^:]*${status}`))
  }
  // The details of an entry show its changes.
  const delta = of('text-delta').find(({ chunk }) => 'delta' in chunk && chunk.delta.includes('short'))
  await tab.page.getByRole('textbox', { name: 'Go to entry' }).fill(String(delta?.sequence))
  await tab.page.keyboard.press('Enter')
  const detail = tab.page.getByRole('region', { name: `Entry ${delta?.sequence}` })
  await detail.locator('ins', { hasText: 'short' }).waitFor()
  await expect.poll(() => detail.locator('.changes li').count()).toBeLessThan(5)
  const row = tab.page.locator(`[data-sequence="${delta?.sequence}"]`)
  await expect.poll(() => row.getAttribute('aria-selected')).toBe('true')
  await tab.page.getByRole('textbox', { name: 'Go to entry' }).fill(String(discard))
  await tab.page.keyboard.press('Enter')
  await tab.page
    .getByRole('region', { name: `Entry ${discard}` })
    .locator('del')
    .first()
    .waitFor()

  await tab.page.getByRole('tab', { name: 'Conversation' }).click()
  await tab.press('Back to live')
  await tab.page.locator('.past .banner').waitFor({ state: 'detached' })
  await expect.poll(() => shown(tab)).toEqual(folded(viewAt(head)))
})

test('fits the window, names a missing session, and opens and closes the legend with the same button', async () => {
  const { page } = await tabs.open(`${url()}/inspect/missing`)
  await page.getByText('There is no chat with this id.').waitFor()
  await page.getByText('No entries.').waitFor()
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 })
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  const legend = page.locator('summary', { hasText: 'Legend' })
  const meaning = page.getByText('Discarded draft')
  await legend.click()
  await meaning.waitFor()
  await legend.click()
  await meaning.waitFor({ state: 'hidden' })
})

test('exports a session to a file and opens it read-only; rejects a broken file with its line number', async () => {
  const chat = await tabs.open(url())
  await chat.sendMessage('Mail ann@example.com.', 'operator')
  await chat.page.locator('.pending').waitFor()
  const live = await tabs.open(inspectorOf(chat))
  await live.page.locator('.past .tool').waitFor()
  const text = await exported(live)
  expect(recordingOf(text).entries.length).toBeGreaterThan(5)

  const tab = await tabs.open(`${url()}/inspect/`)
  const give = (name: string, body: string) =>
    tab.page.setInputFiles('input[type=file]', { name, mimeType: 'application/x-ndjson', buffer: Buffer.from(body) })
  const lines = text.split('\n')
  await tab.page.getByRole('button', { name: 'Choose file' }).waitFor()
  await give('broken.jsonl', [...lines.slice(0, 4), '{"sequence":', ...lines.slice(5)].join('\n'))
  const alert = tab.page.getByRole('alert')
  await alert.waitFor()
  await expect.poll(() => alert.textContent()).toMatch(/broken\.jsonl.*line 5\b/i)

  await give('whole.jsonl', text)
  await tab.page.locator('.past .tool').waitFor()
  expect(await exported(tab)).toBe(text)
  for (const name of ['Approve', 'Deny', 'Edit', 'Regenerate', 'Fork', 'Fork from here', 'Send', 'Stop']) {
    expect([name, await tab.page.getByRole('button', { name, exact: true }).count()]).toEqual([name, 0])
  }
})

test('lists the callbacks of the chat, shows the run in every dialect, and draws charts', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Hello.', 'echo')
  await tab.waitForText('Hello.')
  await tab.is('ready')
  await tab.press('Inspect')
  const show = (name: string) => tab.page.getByRole('tab', { name, exact: true }).click()
  await show('Callbacks')
  await tab.press('Clear')
  await tab.sendMessage('What time is it?', 'operator')
  const called = (name: string) => tab.page.locator(`.callbacks [data-kind=callback][data-name=${name}]`)
  await called('onToolCall').first().waitFor()
  await called('onFinish').waitFor()
  await tab.is('ready')
  const names = await tab.page
    .locator('.callbacks li')
    .evaluateAll(elements =>
      elements.map(element => `${element.getAttribute('data-kind')} ${element.getAttribute('data-name')}`),
    )
  // One call per state of the tool, then the end, once and last.
  const calls = names.filter(name => name.startsWith('callback '))
  expect(calls.lastIndexOf('callback onToolCall')).toBeLessThan(calls.indexOf('callback onFinish'))
  expect(calls.indexOf('callback onFinish')).toBe(calls.length - 1)
  const statuses = names.filter(name => name.startsWith('chat '))
  expect([statuses[0], statuses.at(-1)]).toEqual(['chat submitted', 'chat ready'])
  await called('onToolCall').first().locator('summary').click()
  await expect.poll(() => called('onToolCall').first().locator('pre').textContent()).toContain('local_time')

  setPace(2)
  await tab.sendMessage('100000', 'long')
  await tab.page.locator('.callbacks [data-kind=chat][data-name=streaming]').last().waitFor()
  await tab.press('Stop')
  await tab.is('ready')

  await tab.sendMessage('Windmill.', 'echo')
  await tab.waitForText('Windmill.')
  await tab.is('ready')
  await show('Wire')
  const dialect = tab.page.getByRole('combobox', { name: 'Format' })
  const options = await dialect
    .locator('option')
    .evaluateAll(elements => elements.map(element => (element as HTMLOptionElement).value))
  expect(options.length).toBeGreaterThanOrEqual(9)
  const events = tab.page.locator('.wire-lines code')
  const outputs = new Set<string>()
  for (const option of options) {
    await dialect.selectOption(option)
    // The previous format may still be shown.
    await expect.poll(async () => outputs.has((await events.allTextContents()).join('\n'))).toBe(false)
    await events.filter({ hasText: 'Windmill.' }).first().waitFor()
    outputs.add((await events.allTextContents()).join('\n'))
  }
  expect(outputs.size).toBe(options.length)

  await show('Charts')
  await tab.page.locator('.charts svg, .panel svg').first().waitFor()
  // A page without a chat has no callbacks.
  const whole = await tabs.open(inspectorOf(tab))
  await whole.page.getByRole('tab', { name: 'Callbacks' }).click()
  await whole.page.getByText('No chat is open in this tab').waitFor()
})
