import { expect, test } from 'vitest'
import { demoServer, setPace } from './demo.fixture.ts'
import { countTo, testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

test('shows the answer to a message, and the full chat again from its URL', async () => {
  const tab = await tabs.open(url())
  await tab.page.click('[data-program="assistant"]')
  await tab.page.keyboard.type('What is the weather in Paris?')
  await tab.page.keyboard.press('Enter')
  await tab.waitForText('rainy.')
  await tab.is('ready')
  await expect
    .poll(() => tab.answers())
    .toEqual([expect.stringContaining('\nIt is 23 degrees in Paris, and the sky is rainy.\n')])
  // Markdown: a heading, a table, a list, code and a link.
  const text = tab.page.locator('.message.agent > .text')
  await expect.poll(() => text.locator('strong').textContent()).toBe('23 degrees')
  for (const tag of ['h4', 'table', 'ul', 'pre', 'a[target=_blank]']) expect(await text.locator(tag).count()).toBe(1)
  await expect.poll(() => tab.page.locator('.reasoning .text').textContent()).toContain('weather in Paris')
  await expect.poll(() => tab.page.locator('.tool .badge').textContent()).toBe('Done')
  await expect.poll(() => tab.page.locator('.sources a').getAttribute('href')).toBe('https://weather.example/paris')
  await tab.page.locator('.sessions button', { hasText: 'What is the weather in Paris?' }).waitFor()
  const pageUrl = tab.page.url()
  expect(new URL(pageUrl).searchParams.get('session')).toBeTruthy()

  const other = await tabs.open(pageUrl)
  await other.waitForText('rainy.')
  await expect.poll(() => other.userTexts()).toEqual(['What is the weather in Paris?'])
  await expect.poll(() => other.page.locator('.program').inputValue()).toBe('agent:assistant')
  // A new chat, and back with the list and with the browser's button.
  await other.press('New chat')
  await other.focuses('#input')
  await other.sendMessage('A <b>bold</b> mill.', 'echo')
  await other.waitForText('A <b>bold</b> mill.')
  await expect.poll(() => other.page.locator('.message b').count()).toBe(0)
  await other.page.locator('.sessions button', { hasText: 'Paris' }).click()
  await other.waitForText('rainy.')
  expect(other.page.url()).toBe(pageUrl)
  await other.page.goBack()
  await other.waitForText('bold')
})

test('an unknown session in the URL is a new chat, and fits a small screen', async () => {
  const pageUrl = `${url()}/?session=nobody-${crypto.randomUUID()}`
  const tab = await tabs.open(pageUrl, { width: 360, height: 560 })
  await tab.page.locator('.welcome [data-program=echo]').waitFor()
  const [welcome, footer] = [tab.page.locator('.welcome'), tab.page.locator('footer')]
  const { y = 0, height = 0 } = (await welcome.boundingBox()) ?? {}
  expect(y + height).toBeLessThanOrEqual((await footer.boundingBox())?.y ?? 0)
  await tab.sendMessage('Is anybody here?', 'echo')
  await tab.waitForText('Is anybody here?')
  expect(tab.page.url()).toBe(pageUrl)
})

test('a run stopped from another tab keeps its text, and a reload during an answer loses nothing', async () => {
  setPace(2)
  const one = await tabs.open(url())
  await one.sendMessage('100000', 'long')
  await one.waitForText(' 20 ')
  const two = await tabs.open(one.page.url())
  await two.waitForText(' 30 ')
  // A page that is offline does not know whether anything is under way.
  await two.page.route('**/api/stream?*', route => route.abort())
  await two.page.reload()
  await two.connectionIs('offline')
  await two.is('streaming')
  await two.page.locator('.pulse').waitFor({ state: 'detached' })
  await two.page.unroute('**/api/stream?*')
  await two.page.evaluate(() => dispatchEvent(new Event('online')))
  await two.page.locator('.pulse').waitFor()
  await two.press('Stop')
  for (const tab of [one, two]) await tab.is('ready')
  const [text = ''] = await one.answers()
  expect(text).toMatch(/^1 2 3 .* 30 /)
  expect(countTo(100_000).startsWith(text)).toBe(true)
  await expect.poll(() => two.answers()).toEqual([text])
  await expect.poll(() => one.page.locator('.message.agent .quiet').textContent()).toBe('Stopped.')

  await one.sendMessage('150')
  await one.waitForText('1 2 3 4 5')
  await one.page.reload()
  await one.page.locator('.message.agent > .text', { hasText: / 149 150$/ }).waitFor()
  await two.page.locator('.message.agent > .text', { hasText: / 149 150$/ }).waitFor()
  for (const tab of [one, two]) expect(await tab.answers()).toEqual([text, countTo(150)])
})

test('messages sent during a run are queued and can be cancelled', async () => {
  setPace(2)
  const tab = await tabs.open(url())
  await tab.sendMessage('100000', 'long')
  await tab.waitForText('1 2 3')
  await tab.sendMessage('Second.', 'echo')
  await tab.page.locator('.message.user', { hasText: 'Queued' }).waitFor()
  await tab.sendMessage('Third.')
  const third = tab.page.locator('.message.user', { hasText: 'Third.' })
  // By keyboard, since streaming text keeps moving the button.
  await third.getByRole('button', { name: 'Cancel' }).press('Enter')
  await third.waitFor({ state: 'detached' })
  await tab.press('Stop')
  await tab.waitForText('Second.')
  await tab.is('ready')
  await expect.poll(async () => (await tab.answers()).slice(1)).toEqual(['Second.'])
  await expect.poll(() => tab.userTexts()).toEqual(['100000', 'Second.'])
})

test('edits a message and regenerates an answer', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Frist.', 'echo')
  await tab.waitForText('Frist.')
  await tab.is('ready')
  await tab.press('Edit')
  await tab.page.fill('.edit textarea', 'First.')
  await tab.page.keyboard.press('Enter')
  await tab.waitForText('First.')
  await tab.page.locator('h2', { hasText: 'First.' }).waitFor()
  await tab.is('ready')
  await expect.poll(async () => [await tab.userTexts(), await tab.answers()]).toEqual([['First.'], ['First.']])

  // Without a clipboard there is no copy button.
  await tab.page.locator('.message.agent').getByRole('button', { name: 'Copy' }).waitFor()
  await tab.page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  const before = await tab.page.locator('.message.agent').getAttribute('data-message')
  await tab.press('Regenerate')
  await tab.page.locator(`.message.agent:not([data-message="${before}"])`).waitFor()
  await tab.is('ready')
  await tab.waitForText('First.')
  await expect.poll(async () => [await tab.userTexts(), await tab.answers()]).toEqual([['First.'], ['First.']])
  await tab.page.getByRole('button', { name: 'Regenerate' }).waitFor()
  await expect.poll(() => tab.page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
  await tab.page.reload()
  await tab.waitForText('First.')
  await expect.poll(async () => [await tab.userTexts(), await tab.answers()]).toEqual([['First.'], ['First.']])
})

test('a copy button shows the result for 2 s', async () => {
  const tab = await tabs.open(url())
  await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await tab.sendMessage('```sh\nls\n```', 'echo')
  await tab.is('ready')
  const message = tab.page.locator('.message.agent')
  const code = message.locator('.code button')
  const answer = message.locator('.actions').getByRole('button', { name: /^Cop/ })
  await answer.waitFor()
  const labels = async () => [await answer.textContent(), await code.getAttribute('aria-label')]
  expect(await labels()).toEqual(['Copy', 'Copy code'])
  await tab.page.clock.install()
  await tab.page.clock.pauseAt(Date.now() + 60_000)
  for (const [button, text] of [
    [answer, '```sh\nls\n```'],
    [code, 'ls'],
  ] as const) {
    await button.click()
    await expect.poll(labels).toContain('Copied')
    expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe(text)
    await tab.page.clock.runFor(1_900)
    expect(await labels()).toContain('Copied')
    await tab.page.clock.runFor(2_000)
    await expect.poll(labels).toEqual(['Copy', 'Copy code'])
  }
  // A second copy shows its result for the full time.
  await answer.click()
  await expect.poll(labels).toContain('Copied')
  await tab.page.clock.runFor(1_900)
  await answer.click()
  await tab.page.clock.runFor(1_900)
  await expect.poll(labels).toContain('Copied')
  // A refused copy.
  await tab.page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))
  })
  await answer.click()
  await expect.poll(labels).toContain('Copy failed')
})

test('sends files with a message and serves them again', async () => {
  const tab = await tabs.open(url())
  await tab.page.locator('.program').waitFor()
  const note = { name: 'Grüße.txt', mimeType: 'text/plain', buffer: Buffer.from('Best wishes.') }
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const picture = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') }
  await tab.page.setInputFiles('input[type=file]', [note, picture])
  await tab.page.getByRole('button', { name: 'Remove dot.png' }).waitFor()
  const release = Promise.withResolvers<void>()
  await tab.page.route('**/uploads', async route => {
    await release.promise
    await route.continue()
  })
  await tab.sendMessage('What does it say?', 'echo')
  const sending = tab.page.locator('.message.user[data-status=sending] .file')
  await sending.nth(1).waitFor()
  await expect.poll(() => sending.allTextContents()).toEqual(['Grüße.txt', 'dot.png'])
  release.resolve()
  await tab.waitForText('What does it say?')
  const link = tab.page.locator('.message.user a.file', { hasText: 'Grüße.txt' })
  const kept = await tab.page.request.get(new URL((await link.getAttribute('href')) ?? '', tab.page.url()).href)
  await expect.poll(() => kept.text()).toBe('Best wishes.')
  const image = tab.page.locator('.message.user a.file img')
  await expect.poll(() => image.evaluate(img => (img as HTMLImageElement).naturalWidth)).toBe(1)
  await expect.poll(() => tab.page.locator('.attachments').count()).toBe(0)
})

test('shows sub-agents with their calls, the shared state, and a retried answer once', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Mills', 'team')
  await tab.waitForText('In short: Three sources cover "Mills". One source on "Mills" is outdated.')
  const child = (name: string) => tab.page.locator(`.tool[data-tool="${name}"] .child`)
  await expect
    .poll(() => child('researcher').locator('> .text').first().textContent())
    .toBe('Three sources cover "Mills".')
  await expect.poll(() => child('critic').locator('.tool .name').textContent()).toBe('note_doubt')
  await tab.page.locator('.state summary').click()
  await expect.poll(() => tab.page.locator('.state li').allTextContents()).toEqual(['Known: Mills', 'Uncertain: Mills'])

  await tab.sendMessage('Hello.', 'flaky')
  await tab.waitForText('two attempts to answer.')
  await tab.is('ready')
  await expect
    .poll(async () => (await tab.answers()).slice(1))
    .toEqual(['You said: Hello. It took me two attempts to answer.'])
})
