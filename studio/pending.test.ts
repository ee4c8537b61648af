import { expect, test } from 'vitest'
import { demoServer, startDemo } from './demo.fixture.ts'
import { desktop, phone, type Tab, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

const overflow = (tab: Tab) => tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

test('an approval on a phone is seen on a desktop: both show the exact input and its outcome', async () => {
  const watcher = await tabs.open(url(), desktop)
  await watcher.sendMessage('Mail ben@example.org, then pick a color.', 'operator')
  const approval = watcher.page.locator('.pending[data-kind=approval]')
  await approval.waitFor()
  await watcher.is('paused')

  const hand = await tabs.open(watcher.page.url(), phone)
  const form = hand.page.locator('.pending[data-kind=approval]')
  await form.waitFor()
  await expect.poll(() => overflow(hand)).toBeLessThanOrEqual(0)
  // The input is shown once, and the two buttons are side by side.
  await expect.poll(() => hand.page.locator('.tool').getAttribute('open')).toBeNull()
  const boxOf = (name: string) => form.getByRole('button', { name }).boundingBox()
  await expect.poll(async () => (await boxOf('Deny'))?.y).toBe((await boxOf('Approve'))?.y)
  await form.locator('summary').click()
  const input = {
    to: 'ben@example.org',
    subject: 'Hello from Millrace',
    body: 'Mail ben@example.org, then pick a color.',
  }
  await expect.poll(async () => JSON.parse((await form.locator('pre').textContent()) ?? '')).toEqual(input)
  await expect.poll(() => approval.locator('dd').allTextContents()).toEqual(Object.values(input))
  await hand.press('Approve')
  await approval.waitFor({ state: 'detached' })

  await watcher.press('green')
  for (const tab of [watcher, hand]) {
    await tab.waitForText('You chose green.')
    await expect.poll(() => tab.answers()).toEqual(['The email to ben@example.org was sent. You chose green.'])
    await expect.poll(() => tab.page.locator('.pending').count()).toBe(0)
    await expect.poll(() => tab.page.locator('.tool .badge').allTextContents()).toEqual(['Done', 'Done'])
  }
  // The list is a tap away, and nothing is wider than the screen.
  await hand.press('Open chat list')
  await hand.page.locator('.sessions button', { hasText: 'Mail ben' }).click()
  await hand.waitForText('You chose green.')
  await expect.poll(() => overflow(hand)).toBeLessThanOrEqual(0)
})

test('denies with a reason by keyboard alone', async () => {
  const tab = await tabs.open(url())
  await tab.page.locator('[data-program="operator"]').focus()
  await tab.page.keyboard.press('Enter')
  await tab.page.keyboard.type('Mail Ann.')
  await tab.page.keyboard.press('Enter')
  await tab.page.locator('.pending').waitFor()
  await tab.tabTo(/^Reason$/, 'Shift+Tab')
  await tab.page.keyboard.type('Not on a Sunday.')
  // Enter in the reason field does not submit.
  await tab.page.keyboard.press('Enter')
  await tab.page.keyboard.type(' Not at all.')
  await tab.page.keyboard.press('Tab')
  await tab.page.keyboard.press('Enter')
  await tab.waitForText('denied')
  await expect
    .poll(() => tab.answers())
    .toEqual(['The email to ann@example.com was denied: Not on a Sunday. Not at all.'])
  await tab.focuses('#input')
})

test('a question is answered after kill -9 and restart of the server', async () => {
  const first = startDemo(0)
  const url = await first.url
  const tab = await tabs.open(url)
  await tab.sendMessage('Our anniversary', 'email-draft')
  await tab.page.getByRole('button', { name: 'Formal' }).waitFor()
  await expect.poll(() => tab.page.locator('.message.agent').count()).toBe(0)
  first.kill('SIGKILL')
  await first.ended
  await tab.connectionIs('offline')
  // Law 7: a lost connection ends nothing.
  await tab.is('paused')
  await expect.poll(() => tab.page.locator('.connection .reason').textContent()).toBeTruthy()
  await expect.poll(() => tab.page.locator('.pending').count()).toBe(1)

  await startDemo(0, { cwd: first.cwd, port: new URL(url).port }).url
  await tab.connectionIs('live')
  await tab.press('Formal')
  const object = tab.page.locator('.structured[data-status=done]')
  // The killed process may hold the lease of the session until it expires.
  await object.waitFor()
  await tab.is('ready')
  await expect.poll(() => object.locator('dt').allTextContents()).toEqual(['subject', 'body', 'bullets'])
  await expect.poll(() => object.locator('dd').first().textContent()).toBe('Invitation')
  await expect.poll(() => tab.page.locator('.question .bubble').textContent()).toBe('Formal')
  const order = await tab.page
    .locator('.message.agent > *')
    .evaluateAll(elements => elements.map(element => element.className))
  expect(order).toEqual(['', 'question', 'card structured', 'actions'])
})

test('questions of every kind are forms, which reject invalid values with a message', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('A visit', 'guest-book')
  const answer = () => tab.press('Submit')
  await tab.page.getByRole('textbox', { name: 'What is your name?' }).fill('Ann')
  await tab.page.keyboard.press('Enter')
  // The focus moves to the next form, not to a button: another Enter must not answer it.
  await tab.focuses('.pending[data-kind="interrupt choice"]')
  await tab.press('The race')
  await tab.page.getByLabel('The wheel').check()
  await tab.page.getByLabel('The race').check()
  await answer()
  await tab.focuses('select[name=stars]')
  await tab.page.getByLabel('stars').selectOption('three')
  await tab.page.getByLabel('visitors').fill('0.5')
  await tab.page.getByLabel('again').check()
  await answer()
  await tab.page.locator('.pending .failure', { hasText: 'visitors' }).waitFor()
  await tab.page.getByLabel('visitors').fill('2')
  await answer()
  await tab.waitForText('Thank you, Ann!')
  await expect
    .poll(() => tab.answers())
    .toEqual(['Thank you, Ann! 2 visitors, three of three stars. You saw wheel, race, and liked the race best.'])
  await tab.focuses('#input')
  // Questions are shown before the text that follows them, live and after loading.
  const other = await tabs.open(tab.page.url())
  await other.waitForText('Thank you, Ann!')
  for (const { page } of [tab, other]) {
    const lines = await page.locator('.message.agent > :is(.question, .text)').allTextContents()
    expect(lines.map(line => line.slice(0, 9))).toEqual([
      'What is y',
      'What did ',
      'What did ',
      'How was i',
      'Thank you',
    ])
  }
})

test('an answer that came too late shows a message, though its form is gone', async () => {
  const quick = await tabs.open(url())
  await quick.sendMessage('Mail ann@example.com.', 'operator')
  await quick.page.locator('.pending').waitFor()
  const slow = await tabs.open(quick.page.url())
  const release = Promise.withResolvers<void>()
  await slow.page.route('**/answers', async route => {
    await release.promise
    await route.continue()
  })
  await slow.press('Deny')
  await quick.press('Approve')
  await slow.waitForText('was sent.')
  await expect.poll(() => slow.page.locator('.pending').count()).toBe(0)
  release.resolve()
  const failure = slow.page.locator('.pendings .failure')
  await failure.waitFor()
  await expect
    .poll(() => failure.locator('span').textContent())
    .toBe('Your answer was not accepted. This was already answered.')
  await expect.poll(() => slow.page.locator('.failure').count()).toBe(1)
  await slow.press('Dismiss')
  await slow.is('ready')
  await expect.poll(() => failure.count()).toBe(0)
})

test('a client tool runs by itself in one of two tabs', async () => {
  const one = await tabs.open(url())
  await one.sendMessage('Hello.', 'echo')
  await one.waitForText('Hello.')
  const two = await tabs.open(one.page.url())
  await two.waitForText('Hello.')
  await one.sendMessage('What time is it?', 'operator')
  for (const tab of [one, two]) await tab.waitForText('where you are')
  const zone = await one.page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
  await expect.poll(async () => (await two.answers()).at(-1)).toContain(`(${zone})`)
  await expect.poll(() => one.page.locator('.pending').count()).toBe(0)
})
