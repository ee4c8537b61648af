import { expect, test } from 'vitest'
import { demoServer, startDemo } from './demo.fixture.ts'
import { desktop, phone, type Tab, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

const overflow = (tab: Tab) => tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

test('an approval on a phone is seen on a desktop: both show the exact input and its outcome', async () => {
  const watcher = await tabs.open(url(), desktop)
  await watcher.say('Mail ben@example.org, then pick a color.', 'operator')
  const approval = watcher.page.locator('.pending[data-kind=approval]')
  await approval.waitFor()
  await watcher.is('paused')

  const hand = await tabs.open(watcher.page.url(), phone)
  const asked = hand.page.locator('.pending[data-kind=approval]')
  await asked.waitFor()
  await expect.poll(() => overflow(hand)).toBeLessThanOrEqual(0)
  // What it would run with is there once, and the two answers stand side by side.
  await expect.poll(() => hand.page.locator('.tool').getAttribute('open')).toBeNull()
  const place = (name: string) => asked.getByRole('button', { name }).boundingBox()
  await expect.poll(async () => (await place('Deny'))?.y).toBe((await place('Approve'))?.y)
  await asked.locator('summary').click()
  const input = { to: 'ben@example.org', subject: 'From the mill', body: 'Mail ben@example.org, then pick a color.' }
  await expect.poll(async () => JSON.parse((await asked.locator('pre').textContent()) ?? '')).toEqual(input)
  await expect.poll(() => approval.locator('dd').allTextContents()).toEqual(Object.values(input))
  await hand.press('Approve')
  await approval.waitFor({ state: 'detached' })

  await watcher.press('green')
  for (const tab of [watcher, hand]) {
    await tab.hears('You chose green.')
    await expect.poll(() => tab.answers()).toEqual(['The email to ben@example.org is sent. You chose green.'])
    await expect.poll(() => tab.page.locator('.pending').count()).toBe(0)
    await expect.poll(() => tab.page.locator('.tool .badge').allTextContents()).toEqual(['done', 'done'])
  }
  // The list is a tap away, and nothing is wider than the screen.
  await hand.press('Sessions')
  await hand.page.locator('.sessions button', { hasText: 'Mail ben' }).click()
  await hand.hears('You chose green.')
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
  // A reason is no answer.
  await tab.page.keyboard.press('Enter')
  await tab.page.keyboard.type(' Not at all.')
  await tab.page.keyboard.press('Tab')
  await tab.page.keyboard.press('Enter')
  await tab.hears('denied')
  await expect
    .poll(() => tab.answers())
    .toEqual(['The email to ann@example.com was denied: Not on a Sunday. Not at all.'])
  await tab.focuses('#input')
})

test('a question is answered after kill -9 and restart of the server', async () => {
  const first = startDemo(0)
  const address = await first.url
  const tab = await tabs.open(address)
  await tab.say('Our jubilee', 'email-draft')
  await tab.page.getByRole('button', { name: 'Formal' }).waitFor()
  await expect.poll(() => tab.page.locator('.message.agent').count()).toBe(0)
  first.kill('SIGKILL')
  await first.ended
  await tab.connectionIs('offline')
  // Law 7: a server that is away is no end of anything.
  await tab.is('paused')
  await expect.poll(() => tab.page.locator('.connection .reason').textContent()).toBeTruthy()
  await expect.poll(() => tab.page.locator('.pending').count()).toBe(1)

  await startDemo(0, { cwd: first.cwd, port: new URL(address).port }).url
  await tab.connectionIs('live')
  await tab.press('Formal')
  const object = tab.page.locator('.structured[data-status=done]')
  // The killed process may hold the lease of the session until it expires.
  await object.waitFor()
  await tab.is('ready')
  await expect.poll(() => object.locator('dt').allTextContents()).toEqual(['subject', 'body', 'bullets'])
  await expect.poll(() => object.locator('dd').first().textContent()).toBe('Invitation')
  await expect.poll(() => tab.page.locator('.question .bubble').textContent()).toBe('Formal')
  const order = await tab.page.locator('.message.agent > *').evaluateAll(all => all.map(one => one.className))
  expect(order).toEqual(['', 'question', 'card structured', 'actions'])
})

test('questions of every kind are forms, which reject invalid values with a message', async () => {
  const tab = await tabs.open(url())
  await tab.say('A visit', 'guest-book')
  const answer = () => tab.press('Answer')
  await tab.page.getByRole('textbox', { name: 'What is your name?' }).fill('Ann')
  await tab.page.keyboard.press('Enter')
  // The next is where one is; not on a button, lest a key that is pressed once more answers it.
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
  await tab.hears('Thank you, Ann!')
  await expect
    .poll(() => tab.answers())
    .toEqual(['Thank you, Ann! 2 visitors, three of three stars. You saw wheel, race, and liked the race best.'])
  await tab.focuses('#input')
  // Questions stand before what was said of their answers, here and in a tab that reads it afterwards.
  const other = await tabs.open(tab.page.url())
  await other.hears('Thank you, Ann!')
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
  await quick.say('Mail ann@example.com.', 'operator')
  await quick.page.locator('.pending').waitFor()
  const slow = await tabs.open(quick.page.url())
  const release = Promise.withResolvers<void>()
  await slow.page.route('**/answers', async route => {
    await release.promise
    await route.continue()
  })
  await slow.press('Deny')
  await quick.press('Approve')
  await slow.hears('is sent.')
  await expect.poll(() => slow.page.locator('.pending').count()).toBe(0)
  release.resolve()
  const told = slow.page.locator('.pendings .failure')
  await told.waitFor()
  await expect
    .poll(() => told.locator('span').textContent())
    .toBe('Your answer was not taken. It has been answered already.')
  await expect.poll(() => slow.page.locator('.failure').count()).toBe(1)
  await slow.press('Dismiss')
  await slow.is('ready')
  await expect.poll(() => told.count()).toBe(0)
})

test('a client tool runs by itself in one of two tabs', async () => {
  const one = await tabs.open(url())
  await one.say('Hello.', 'echo')
  await one.hears('Hello.')
  const two = await tabs.open(one.page.url())
  await two.hears('Hello.')
  await one.say('What time is it?', 'operator')
  for (const tab of [one, two]) await tab.hears('where you are')
  const zone = await one.page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
  await expect.poll(async () => (await two.answers()).at(-1)).toContain(`(${zone})`)
  await expect.poll(() => one.page.locator('.pending').count()).toBe(0)
})
