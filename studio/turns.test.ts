import { expect, test } from 'vitest'
import { demoServer } from './demo.fixture.ts'
import { type Tab, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

/** Edits a message. */
async function edit(tab: Tab, before: string, after: string): Promise<void> {
  const message = tab.page.locator('.message.user', { hasText: before })
  await message.getByRole('button', { name: 'Edit' }).click()
  await tab.page.fill('.edit textarea', after)
  await tab.page.keyboard.press('Enter')
  await tab.waitForText(after)
  await tab.is('ready')
}

/** The visible texts of the conversation. */
const visibleTexts = (tab: Tab) =>
  tab.page
    .locator('.message :is(.text):visible')
    .evaluateAll(elements => elements.map(element => element.textContent?.trim()))

const pager = (tab: Tab, kind: 'user' | 'agent') => tab.page.locator(`.message.${kind} .pager:visible`)

test('pages through edited messages and regenerated answers, and forks from one of them', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('First.', 'echo')
  await tab.waitForText('First.')
  await tab.is('ready')
  await expect.poll(() => tab.page.locator('.pager').count()).toBe(0)
  await edit(tab, 'First.', 'Second.')
  await edit(tab, 'Second.', 'Third.')
  await expect.poll(() => pager(tab, 'user').textContent()).toContain('3/3')
  await expect.poll(() => visibleTexts(tab)).toEqual(['Third.', 'Third.'])

  await pager(tab, 'user').getByRole('button', { name: 'Previous version' }).click()
  await expect.poll(() => visibleTexts(tab)).toEqual(['Second.', 'Second.'])
  await expect.poll(() => pager(tab, 'user').textContent()).toContain('2/3')
  // The keyboard continues from the shown version.
  await tab.page.keyboard.press('ArrowLeft')
  await expect.poll(() => visibleTexts(tab)).toEqual(['First.', 'First.'])
  await expect.poll(() => pager(tab, 'user').textContent()).toContain('1/3')
  // Earlier versions are read-only.
  for (const name of ['Edit', 'Regenerate']) {
    await expect
      .poll(() => tab.page.getByRole('button', { name, exact: true }).filter({ visible: true }).count())
      .toBe(0)
  }
  await tab.page.keyboard.press('ArrowRight')
  await tab.page.keyboard.press('ArrowRight')
  await expect.poll(() => visibleTexts(tab)).toEqual(['Third.', 'Third.'])
  // A reload keeps all versions.
  await tab.page.reload()
  await expect.poll(() => pager(tab, 'user').textContent()).toContain('3/3')
  await pager(tab, 'user').getByRole('button', { name: 'Previous version' }).click()
  await expect.poll(() => visibleTexts(tab)).toEqual(['Second.', 'Second.'])

  // A fork continues from there, and this session stays unchanged.
  const address = tab.page.url()
  await tab.press('Fork from here')
  await expect.poll(() => tab.page.url()).not.toBe(address)
  await tab.waitForText('Second.')
  await tab.sendMessage('And on.', 'echo')
  await tab.waitForText('And on.')
  await tab.is('ready')
  await expect.poll(() => visibleTexts(tab)).toEqual(['Second.', 'Second.', 'And on.', 'And on.'])
  const source = await tabs.open(address)
  await source.waitForText('Third.')
  await expect.poll(() => visibleTexts(source)).toEqual(['Third.', 'Third.'])

  const answer = () => source.page.locator('.message.agent:visible').getAttribute('data-message')
  const before = await answer()
  await source.press('Regenerate')
  await expect.poll(answer).not.toBe(before)
  await source.is('ready')
  await expect.poll(() => pager(source, 'agent').textContent()).toContain('2/2')
  await pager(source, 'agent').getByRole('button', { name: 'Previous version' }).click()
  await expect.poll(answer).toBe(before)
  await expect.poll(() => visibleTexts(source)).toEqual(['Third.', 'Third.'])
})

test('a fork has the messages up to its point, and all tabs show a new answer', async () => {
  const one = await tabs.open(url())
  await one.sendMessage('First.', 'echo')
  await one.waitForText('First.')
  await one.is('ready')
  const two = await tabs.open(one.page.url())
  await two.waitForText('First.')
  await two.sendMessage('Second.')
  for (const tab of [one, two]) {
    await tab.waitForText('Second.')
    await tab.is('ready')
    await expect.poll(() => visibleTexts(tab)).toEqual(['First.', 'First.', 'Second.', 'Second.'])
  }
  const address = one.page.url()
  await one.page.locator('.message.agent', { hasText: 'First.' }).getByRole('button', { name: 'Fork' }).click()
  await expect.poll(() => one.page.url()).not.toBe(address)
  await expect.poll(() => visibleTexts(one)).toEqual(['First.', 'First.'])
  await one.sendMessage('Other.')
  await one.waitForText('Other.')
  await one.is('ready')
  await expect.poll(() => visibleTexts(one)).toEqual(['First.', 'First.', 'Other.', 'Other.'])
  await expect.poll(() => visibleTexts(two)).toEqual(['First.', 'First.', 'Second.', 'Second.'])
  // A fork at a user message has no answer yet.
  await two.page.locator('.message.user', { hasText: 'Second.' }).getByRole('button', { name: 'Fork' }).click()
  await expect.poll(() => two.page.url()).not.toBe(address)
  await expect.poll(() => visibleTexts(two)).toEqual(['First.', 'First.', 'Second.'])
})

test('a client tool runs once in several open tabs', async () => {
  const one = await tabs.open(url())
  await one.sendMessage('Hello.', 'echo')
  await one.waitForText('Hello.')
  await one.is('ready')
  const all = [one, await tabs.open(one.page.url()), await tabs.open(one.page.url())]
  const answered: string[] = []
  for (const tab of all) {
    await tab.waitForText('Hello.')
    tab.page.on('request', request => {
      if (request.method() === 'POST' && request.url().endsWith('/answers')) answered.push(request.postData() ?? '')
    })
  }
  await one.sendMessage('What time is it?', 'operator')
  for (const tab of all) {
    await tab.waitForText('where you are')
    await tab.is('ready')
  }
  expect(answered.filter(body => body.includes('timeZone'))).toHaveLength(1)
  const [words] = await Promise.all(all.map(tab => tab.answers()))
  for (const tab of all) expect(await tab.answers()).toEqual(words)
})
