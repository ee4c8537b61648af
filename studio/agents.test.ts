import { expect, test } from 'vitest'
import { house, soon, stage, type Tab } from './stage.fixture.ts'

const on = stage()
const url = house(0.5)

/** What the page does while this is done: every value that an attribute of these elements had, in order. */
async function values(tab: Tab, selector: string, attribute: string, act: () => Promise<void>): Promise<string[]> {
  await tab.page.evaluate(
    ([selector, attribute]) => {
      const seen: string[] = []
      const look = () => {
        for (const element of document.querySelectorAll(selector)) {
          const value = element.getAttribute(attribute) ?? ''
          if (seen.at(-1) !== value) seen.push(value)
        }
      }
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true })
      Object.assign(window, { seen })
    },
    [selector, attribute] as const,
  )
  await act()
  return tab.page.evaluate(() => (window as unknown as { seen: string[] }).seen)
}

test('assistant: thoughts are folded, the call fills in and is done, and the answer is Markdown with its sources', async () => {
  const tab = await on.open(url())
  const states = await values(tab, '.tool[data-tool=get_weather]', 'data-state', async () => {
    await tab.say('How is the weather in Paris for 4 days?', 'assistant')
    await tab.hears('More is told by the station.')
    await tab.is('ready')
  })
  expect(states).toEqual(['input-streaming', 'input-available', 'output-available'])

  const reasoning = tab.page.locator('.message.agent details.reasoning').first()
  expect(await reasoning.getAttribute('open')).toBeNull()
  await reasoning.locator('summary').click()
  expect(await reasoning.locator('.text').textContent()).toContain('This is about the weather in Paris.')

  const call = tab.page.locator('.tool[data-tool=get_weather]')
  expect(await call.getAttribute('open')).toBeNull()
  await call.locator('summary').click()
  const fields = await call.locator('.field').allTextContents()
  expect(fields[0]).toMatch(/Paris.*4.*celsius|Paris.*celsius.*4/s)
  expect(fields.at(-1)).toContain('https://weather.example/paris')

  const answer = tab.page.locator('.message.agent > .text').last()
  expect(await answer.getByRole('heading').textContent()).toBe('The weather in Paris')
  expect(await answer.locator('strong').textContent()).toMatch(/^\d+ degrees$/)
  expect(await answer.locator('table tbody tr').count()).toBe(4)
  expect((await answer.locator('table th').allTextContents()).map(cell => cell.trim())).toEqual([
    'day',
    'celsius',
    'sky',
  ])
  expect(await answer.locator('li em').textContent()).toBe('read')
  expect(await answer.locator('pre code').textContent()).toContain('curl "https://weather.example/paris?days=4"')
  const link = answer.getByRole('link', { name: 'the station' })
  expect(await link.getAttribute('href')).toBe('https://weather.example/paris')
  expect(await link.getAttribute('rel')).toContain('noreferrer')

  const source = tab.page.locator('.sources a')
  expect(await source.getAttribute('href')).toBe('https://weather.example/paris')
  const picture = tab.page.locator('.message.agent .file img')
  await soon(() => picture.evaluate(img => (img as HTMLImageElement).naturalWidth)).toBeGreaterThan(0)
  // What the model wrote for it; what it read the script does not tell.
  await tab.page.locator('.message.agent .tokens', { hasText: /[1-9]\d*\D* out\b/ }).waitFor()
})

test('what is said to be HTML or a script is words', async () => {
  const tab = await on.open(url())
  const dialogs: string[] = []
  tab.page.on('dialog', dialog => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  const lines = [
    '# A mill',
    'Some <b>bold</b> <img src=x onerror="alert(1)"> text.',
    '<script>alert(2)</script>',
    '<iframe src="/"></iframe>',
    '[one](javascript:alert(3)) [two](JaVaScRiPt:alert(4)) [three](data:text/html,x) [four](https://example.org/)',
    '![five](https://example.org/five.png)',
    '[six]',
    '',
    '[six]: javascript:alert(6)',
    '',
    'The end.',
  ]
  await tab.say(lines.join('\n\n'), 'echo')
  await tab.hears('The end.')
  await tab.is('ready')
  const answer = tab.page.locator('.message.agent > .text').last()
  expect(await answer.getByRole('heading', { name: 'A mill' }).count()).toBe(1)
  expect(await answer.locator('b, img, script, iframe, style').count()).toBe(0)
  expect(await answer.textContent()).toContain('<script>alert(2)</script>')
  expect(await answer.textContent()).toContain('<b>bold</b>')
  const links = await answer.locator('a').evaluateAll(all => all.map(one => (one as HTMLAnchorElement).href))
  expect(links).toEqual(['https://example.org/', 'https://example.org/five.png'])
  expect(await answer.textContent()).toContain('one')
  expect(dialogs).toEqual([])
  // What people say is as they typed it.
  expect((await tab.said())[0]).toContain('# A mill')
})

test('team: who works for whom is nested two deep, with notes in the state', async () => {
  const tab = await on.open(url())
  await tab.say('Water mills', 'team')
  await tab.hears('In short: Three sources tell of "Water mills". One source on "Water mills" is old.')
  await tab.is('ready')
  const researcher = tab.page.locator('.tool[data-tool=researcher] > .body > .child')
  const critic = tab.page.locator('.tool[data-tool=critic] > .body > .child')
  expect(await critic.locator('.tool .name').allTextContents()).toEqual(['note_doubt'])
  const librarians = researcher.locator('.tool[data-tool=librarian] .child')
  expect((await librarians.locator('> .text').allTextContents()).sort()).toEqual([
    'Found: books on Water mills.',
    'Found: letters on Water mills.',
  ])
  await tab.page.locator('.state summary').click()
  expect(await tab.page.locator('.state li').allTextContents()).toEqual(['Known: Water mills', 'Doubtful: Water mills'])
})

test('flaky: what was taken back is shown no more; email-draft: asks, and fills in an object field by field', async () => {
  const tab = await on.open(url())
  await tab.say('Hello.', 'flaky')
  await tab.hears('You said:')
  // The first attempt never gets as far as this.
  await tab.hears('You said: Hello. It took me two attempts to answer.')
  await tab.is('ready')
  expect(await tab.answers()).toEqual(['You said: Hello. It took me two attempts to answer.'])

  await tab.press('New session')
  await tab.say('Our jubilee', 'email-draft')
  await tab.page.getByRole('button', { name: 'Warm' }).waitFor()
  await tab.is('paused')
  const states = await values(tab, '.structured', 'data-status', async () => {
    await tab.press('Warm')
    await tab.page.locator('.structured[data-status=done]').waitFor()
    await tab.is('ready')
  })
  expect(states).toEqual(['streaming', 'done'])
  const object = tab.page.locator('.structured')
  expect(await object.locator('dt').allTextContents()).toEqual(['subject', 'body', 'bullets'])
  expect(await object.locator('dd').first().textContent()).toBe('Come to the mill!')
  expect(await object.locator('li').count()).toBe(3)
})

test('operator: a denial needs nobody where the address cannot be, and a client tool asks on the screen', async () => {
  const tab = await on.open(url())
  await tab.say('Mail ann@nowhere.invalid, then pick a color.', 'operator')
  await tab.page.locator('.tool[data-tool=send_email][data-state=output-denied]').waitFor()
  await tab.press('blue')
  await tab.hears('You chose blue.')
  await tab.is('ready')
  expect(await tab.answers()).toEqual([
    'The email to ann@nowhere.invalid was denied: There is no such address. You chose blue.',
  ])
  expect(await tab.page.locator('.tool .badge').allTextContents()).toEqual(['denied', 'done'])
})
