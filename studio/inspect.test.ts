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

/** Goes to a place of the log by the slider. */
async function travel({ page }: Tab, sequence: number): Promise<void> {
  await page.getByRole('slider').first().fill(String(sequence))
  await page.locator('.past .banner', { hasText: `at ${sequence} of` }).waitFor()
}

/** What is said in a conversation at a place of it: by people and by agents themselves. */
const words = (texts: readonly string[]): string[] =>
  texts.map(text => text.replaceAll(/\s+/g, ' ').trim()).filter(text => text !== '')

const shown = async ({ page }: Tab): Promise<string[]> => {
  // What waits its turn is no part of the conversation yet.
  const said = '.past .message.user:not([data-status=sending]) .text'
  return words(await page.locator(`${said}, .past .message.agent > .text`).allTextContents())
}

const folded = ({ messages }: View): string[] =>
  words(
    messages
      .filter(({ parent }) => parent === undefined)
      .flatMap(({ parts }) => parts.map(part => (part.type === 'text' ? part.text : ''))),
  )

/** Goes on with a discard and a rewind. */
async function goOn(tab: Tab): Promise<void> {
  // The first attempt fails after half a second at this pace: by then the inspector has its words.
  setPace(1)
  await tab.say('Hello.', 'flaky')
  await tab.hears('two attempts to answer.')
  await tab.is('ready')
  await tab.say('Frist.', 'echo')
  await tab.hears('Frist.')
  await tab.is('ready')
  await tab.page.locator('.message.user', { hasText: 'Frist.' }).getByRole('button', { name: 'Edit' }).click()
  await tab.page.fill('.edit textarea', 'First.')
  await tab.page.keyboard.press('Enter')
  await tab.hears('First.')
  await tab.is('ready')
}

test('timeline, entries, conversation and state show the fold of the log up to the chosen entry', async () => {
  const chat = await tabs.open(url())
  await chat.say('Mills', 'team')
  await chat.hears('In short')
  await chat.is('ready')
  const tab = await tabs.open(inspectorOf(chat))
  await tab.hears('In short')
  // Only who was there has what was taken back: it is not told again.
  await goOn(chat)
  await tab.hears('First.')
  const { entries } = recordingOf(await exported(tab))
  const of = (type: Entry['chunk']['type']) => entries.filter(({ chunk }) => chunk.type === type)
  const at = (type: Entry['chunk']['type']) => of(type)[0]?.sequence ?? 0
  const discard = at('step-discarded')
  const rewind = at('rewind')
  expect([discard, rewind].every(sequence => sequence > 0)).toBe(true)

  // Who works for whom has a lane of its own; what was taken back is marked as such.
  const timeline = tab.page.getByRole('region', { name: 'Timeline' })
  const lanes = await timeline.locator('.names li').allTextContents()
  for (const name of ['researcher', 'critic', 'librarian']) {
    expect(lanes.some(lane => lane.includes(name))).toBe(true)
  }
  for (const sign of ['discard', 'rewind', 'commit', 'said']) {
    await expect
      .poll(async () => [sign, (await timeline.locator(`.sheet-of-time .sign.${sign}`).count()) > 0])
      .toEqual([sign, true])
  }
  await expect.poll(() => timeline.locator('.sheet-of-time .discarded').count()).toBeGreaterThan(0)
  await expect.poll(() => timeline.locator('.sheet-of-time .cut').count()).toBeGreaterThan(0)

  const head = entries.at(-1)?.sequence ?? 0
  const viewAt = (place: number) => foldLog(entries.filter(({ sequence }) => sequence <= place)).view()
  // What is taken back there was said just before.
  for (const [place, text] of [
    [discard, 'You said:'],
    [rewind, 'Frist.'],
  ] as const) {
    const said = [place - 1, place].map(one => folded(viewAt(one)).some(line => line.startsWith(text)))
    expect(said).toEqual([true, false])
  }
  const state = tab.page.getByRole('region', { name: 'State at this place of the log' })
  const places = [1, 5, at('state-patch'), Math.floor(head / 3), discard - 1, discard, rewind - 1, rewind, head - 1]
  for (const place of places) {
    const view = viewAt(place)
    await tab.page.getByRole('tab', { name: 'Conversation' }).click()
    await travel(tab, place)
    await expect.poll(() => shown(tab)).toEqual(folded(view))
    await tab.page.getByRole('tab', { name: 'State' }).click()
    const { findings = [], doubts = [] } = (view.state ?? {}) as { findings?: string[]; doubts?: string[] }
    const text = (await state.textContent()) ?? ''
    for (const line of ['Known: Mills', 'Doubtful: Mills']) {
      expect([place, line, text.includes(line)]).toEqual([place, line, [...findings, ...doubts].includes(line)])
    }
    for (const { program = '', status } of view.runs) expect(text).toMatch(new RegExp(`${program}[^:]*${status}`))
  }
  // An entry says what it changed.
  const delta = of('text-delta').find(({ chunk }) => 'delta' in chunk && chunk.delta.includes('short'))
  await tab.page.getByRole('textbox', { name: 'Go to a sequence' }).fill(String(delta?.sequence))
  await tab.page.keyboard.press('Enter')
  const detail = tab.page.getByRole('region', { name: `Entry ${delta?.sequence}` })
  await detail.locator('ins', { hasText: 'short' }).waitFor()
  await expect.poll(() => detail.locator('.changes li').count()).toBeLessThan(5)
  const row = tab.page.locator(`[data-sequence="${delta?.sequence}"]`)
  await expect.poll(() => row.getAttribute('aria-selected')).toBe('true')
  await tab.page.getByRole('textbox', { name: 'Go to a sequence' }).fill(String(discard))
  await tab.page.keyboard.press('Enter')
  await tab.page
    .getByRole('region', { name: `Entry ${discard}` })
    .locator('del')
    .first()
    .waitFor()

  await tab.page.getByRole('tab', { name: 'Conversation' }).click()
  await tab.press('Back to now')
  await tab.page.locator('.past .banner').waitFor({ state: 'detached' })
  await expect.poll(() => shown(tab)).toEqual(folded(viewAt(head)))
})

test('exports a session to a file and opens it read-only; rejects a broken file with its line number', async () => {
  const chat = await tabs.open(url())
  await chat.say('Mail ann@example.com.', 'operator')
  await chat.page.locator('.pending').waitFor()
  const live = await tabs.open(inspectorOf(chat))
  await live.page.locator('.past .tool').waitFor()
  const text = await exported(live)
  expect(recordingOf(text).entries.length).toBeGreaterThan(5)

  const tab = await tabs.open(`${url()}/inspect/`)
  const give = (name: string, body: string) =>
    tab.page.setInputFiles('input[type=file]', { name, mimeType: 'application/x-ndjson', buffer: Buffer.from(body) })
  const lines = text.split('\n')
  await tab.page.getByRole('button', { name: 'Choose a file' }).waitFor()
  await give('broken.jsonl', [...lines.slice(0, 4), '{"sequence":', ...lines.slice(5)].join('\n'))
  const alert = tab.page.getByRole('alert')
  await alert.waitFor()
  await expect.poll(() => alert.textContent()).toMatch(/broken\.jsonl.*line 5\b/i)

  await give('whole.jsonl', text)
  await tab.page.locator('.past .tool').waitFor()
  expect(await exported(tab)).toBe(text)
  for (const name of ['Approve', 'Deny', 'Edit', 'Regenerate', 'Fork', 'Go on from here', 'Send', 'Stop']) {
    expect([name, await tab.page.getByRole('button', { name, exact: true }).count()]).toEqual([name, 0])
  }
})

test('lists the callbacks of the chat, shows the run in every dialect, and draws charts', async () => {
  const tab = await tabs.open(url())
  await tab.say('Hello.', 'echo')
  await tab.hears('Hello.')
  await tab.is('ready')
  await tab.press('Inspect')
  const show = (name: string) => tab.page.getByRole('tab', { name, exact: true }).click()
  await show('Callbacks')
  await tab.press('Clear')
  await tab.say('What time is it?', 'operator')
  const called = (name: string) => tab.page.locator(`.callbacks [data-kind=callback][data-name=${name}]`)
  await called('onToolCall').first().waitFor()
  await called('onFinish').waitFor()
  await tab.is('ready')
  const names = await tab.page
    .locator('.callbacks li')
    .evaluateAll(all => all.map(one => `${one.getAttribute('data-kind')} ${one.getAttribute('data-name')}`))
  // As the call goes from state to state; and the end, once and last.
  const calls = names.filter(name => name.startsWith('callback '))
  expect(calls.lastIndexOf('callback onToolCall')).toBeLessThan(calls.indexOf('callback onFinish'))
  expect(calls.indexOf('callback onFinish')).toBe(calls.length - 1)
  const statuses = names.filter(name => name.startsWith('chat '))
  expect([statuses[0], statuses.at(-1)]).toEqual(['chat submitted', 'chat ready'])
  await called('onToolCall').first().locator('summary').click()
  await expect.poll(() => called('onToolCall').first().locator('pre').textContent()).toContain('local_time')

  setPace(2)
  await tab.say('100000', 'long')
  await tab.page.locator('.callbacks [data-kind=chat][data-name=streaming]').last().waitFor()
  await tab.press('Stop')
  await tab.is('ready')

  await tab.say('Windmill.', 'echo')
  await tab.hears('Windmill.')
  await tab.is('ready')
  await show('Wire')
  const dialect = tab.page.getByRole('combobox', { name: 'as' })
  const options = await dialect.locator('option').evaluateAll(all => all.map(one => (one as HTMLOptionElement).value))
  expect(options.length).toBeGreaterThanOrEqual(9)
  const said = tab.page.locator('.wire-lines code')
  const seen = new Set<string>()
  for (const option of options) {
    await dialect.selectOption(option)
    // What was said before may stand there still.
    await expect.poll(async () => seen.has((await said.allTextContents()).join('\n'))).toBe(false)
    await said.filter({ hasText: 'Windmill.' }).first().waitFor()
    seen.add((await said.allTextContents()).join('\n'))
  }
  expect(seen.size).toBe(options.length)

  await show('Charts')
  await tab.page.locator('.charts svg, .panel svg').first().waitFor()
  // By a page without a chat there is nothing to call.
  const whole = await tabs.open(inspectorOf(tab))
  await whole.page.getByRole('tab', { name: 'Callbacks' }).click()
  await whole.page.getByText('Callbacks belong to a chat').waitFor()
})
