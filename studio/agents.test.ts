import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { draftScript, emailDraftWith } from '../examples/email-draft/workflow.ts'
import { demoServer, serve } from './demo.fixture.ts'
import { pausedModel } from './paused-model.fixture.ts'
import { testTabs } from './tabs.fixture.ts'

const tabs = testTabs()
const url = demoServer()

const jsonSchema = { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) }

const anyObject = {
  '~standard': { version: 1 as const, vendor: 'studio', validate: (value: unknown) => ({ value }), jsonSchema },
}

test('a call shows its input while it streams, then that it runs, then its output', async () => {
  const isDone = Promise.withResolvers<void>()
  const weigh = tool({
    name: 'weigh',
    inputSchema: anyObject,
    execute: async () => {
      await isDone.promise
      return { weight: 4 }
    },
  })
  const script = [{ calls: [{ name: 'weigh', input: { what: 'rye flour', unit: 'kilos' } }] }, { text: 'Four.' }]
  const { model, resume } = pausedModel(script, 1)
  const weigher = agent({ name: 'weigher', model, tools: [weigh] })
  const tab = await tabs.open(await serve({ agents: [weigher] }))
  await tab.sendMessage('How heavy is it?', 'weigher')
  const call = tab.page.locator('.tool[data-tool=weigh]')
  await tab.page.locator('.tool[data-state=input-streaming]').waitFor()
  expect(await call.getAttribute('open')).not.toBeNull()
  expect(await call.textContent()).not.toContain('kilos')
  resume()
  await tab.page.locator('.tool[data-state=input-available]', { hasText: 'kilos' }).waitFor()
  isDone.resolve()
  await tab.page.locator('.tool[data-state=output-available]').waitFor()
  await tab.waitForText('Four.')
})

test('a structured object shows its fields while they stream, and then that it is done', async () => {
  const { model, resume } = pausedModel(draftScript, 8)
  const tab = await tabs.open(await serve({ workflows: [emailDraftWith(model)] }))
  await tab.sendMessage('Our anniversary', 'email-draft')
  await tab.press('Warm')
  const object = tab.page.locator('.structured')
  await tab.page.locator('.structured[data-status=streaming]').waitFor()
  await expect.poll(() => object.locator('dt').allTextContents()).toEqual(['subject', 'body'])
  expect(await object.getAttribute('data-status')).toBe('streaming')
  resume()
  await tab.page.locator('.structured[data-status=done]').waitFor()
  await expect.poll(() => object.locator('dt').allTextContents()).toEqual(['subject', 'body', 'bullets'])
  await tab.is('ready')
})

test('assistant: folds its reasoning, shows the call and its result, and renders Markdown with sources', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('What is the weather in Paris for 4 days?', 'assistant')
  await tab.waitForText('Source: weather station')
  await tab.is('ready')

  const reasoning = tab.page.locator('.message.agent details.reasoning').first()
  await expect.poll(() => reasoning.getAttribute('open')).toBeNull()
  await reasoning.locator('summary').click()
  await expect
    .poll(() => reasoning.locator('.text').textContent())
    .toContain('The user asks about the weather in Paris.')

  const call = tab.page.locator('.tool[data-tool=get_weather]')
  await expect.poll(() => call.getAttribute('open')).toBeNull()
  await call.locator('summary').click()
  const fields = await call.locator('.field').allTextContents()
  expect(fields[0]).toMatch(/Paris.*4.*celsius|Paris.*celsius.*4/s)
  expect(fields.at(-1)).toContain('https://weather.example/paris')

  const answer = tab.page.locator('.message.agent > .text').last()
  await expect.poll(() => answer.getByRole('heading').textContent()).toBe('Weather in Paris')
  await expect.poll(() => answer.locator('strong').textContent()).toMatch(/^\d+ degrees$/)
  await expect.poll(() => answer.locator('table tbody tr').count()).toBe(4)
  await expect
    .poll(async () => (await answer.locator('table th').allTextContents()).map(cell => cell.trim()))
    .toEqual(['Day', 'Celsius', 'Sky'])
  await expect.poll(() => answer.locator('li em').textContent()).toBe('read')
  await expect
    .poll(() => answer.locator('pre code').textContent())
    .toContain('curl "https://weather.example/paris?days=4"')
  const link = answer.getByRole('link', { name: 'weather station' })
  await expect.poll(() => link.getAttribute('href')).toBe('https://weather.example/paris')
  await expect.poll(() => link.getAttribute('rel')).toContain('noreferrer')

  const source = tab.page.locator('.sources a')
  await expect.poll(() => source.getAttribute('href')).toBe('https://weather.example/paris')
  const picture = tab.page.locator('.message.agent .file img')
  await expect.poll(() => picture.evaluate(img => (img as HTMLImageElement).naturalWidth)).toBeGreaterThan(0)
  // The scripted model reports output tokens only.
  await tab.page.locator('.message.agent .tokens', { hasText: /[1-9]\S* tokens/ }).waitFor()
})

test('shows HTML and scripts as text', async () => {
  const tab = await tabs.open(url())
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
  await tab.sendMessage(lines.join('\n\n'), 'echo')
  await tab.waitForText('The end.')
  await tab.is('ready')
  const answer = tab.page.locator('.message.agent > .text').last()
  await answer.getByRole('heading', { name: 'A mill' }).waitFor()
  // The answer is complete. Nothing is polled from here: a poll would pass once a forbidden element has gone again.
  expect(await answer.locator('b, img, script, iframe, style').count()).toBe(0)
  expect(await answer.getByRole('heading', { name: 'A mill' }).count()).toBe(1)
  expect(await answer.textContent()).toContain('<script>alert(2)</script>')
  expect(await answer.textContent()).toContain('<b>bold</b>')
  const links = await answer
    .locator('a')
    .evaluateAll(elements => elements.map(element => (element as HTMLAnchorElement).href))
  expect(links).toEqual(['https://example.org/', 'https://example.org/five.png'])
  expect(await answer.textContent()).toContain('one')
  expect(dialogs).toEqual([])
  // User messages are shown as typed.
  await expect.poll(async () => (await tab.userTexts())[0]).toContain('# A mill')
})

test('team: nests sub-agents two levels deep and shows the shared state', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Water mills', 'team')
  await tab.waitForText('In short: Three sources cover "Water mills". One source on "Water mills" is outdated.')
  await tab.is('ready')
  const researcher = tab.page.locator('.tool[data-tool=researcher] > .body > .child')
  const critic = tab.page.locator('.tool[data-tool=critic] > .body > .child')
  await expect.poll(() => critic.locator('.tool .name').allTextContents()).toEqual(['note_doubt'])
  const librarians = researcher.locator('.tool[data-tool=librarian] .child')
  await expect
    .poll(async () => (await librarians.locator('> .text').allTextContents()).sort())
    .toEqual(['Found: books on Water mills.', 'Found: letters on Water mills.'])
  await tab.page.locator('.state summary').click()
  await expect
    .poll(() => tab.page.locator('.state li').allTextContents())
    .toEqual(['Known: Water mills', 'Uncertain: Water mills'])
})

test('flaky: removes a discarded attempt; email-draft: asks a question, then shows an object', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Hello.', 'flaky')
  await tab.waitForText('You said:')
  // The first attempt never gets as far as this.
  await tab.waitForText('You said: Hello. It took me two attempts to answer.')
  await tab.is('ready')
  await expect.poll(() => tab.answers()).toEqual(['You said: Hello. It took me two attempts to answer.'])

  await tab.press('New chat')
  await tab.sendMessage('Our anniversary', 'email-draft')
  await tab.page.getByRole('button', { name: 'Warm' }).waitFor()
  await tab.is('paused')
  await tab.press('Warm')
  await tab.page.locator('.structured[data-status=done]').waitFor()
  await tab.is('ready')
  const object = tab.page.locator('.structured')
  await expect.poll(() => object.locator('dt').allTextContents()).toEqual(['subject', 'body', 'bullets'])
  await expect.poll(() => object.locator('dd').first().textContent()).toBe('Come to the mill!')
  await expect.poll(() => object.locator('li').count()).toBe(3)
})

test('operator: denies an impossible address by itself, and a client tool asks in the page', async () => {
  const tab = await tabs.open(url())
  await tab.sendMessage('Mail ann@nowhere.invalid, then pick a color.', 'operator')
  await tab.page.locator('.tool[data-tool=send_email][data-state=output-denied]').waitFor()
  await tab.press('blue')
  await tab.waitForText('You chose blue.')
  await tab.is('ready')
  await expect
    .poll(() => tab.answers())
    .toEqual(['The email to ann@nowhere.invalid was denied: This address does not exist. You chose blue.'])
  await expect.poll(() => tab.page.locator('.tool .badge').allTextContents()).toEqual(['Denied', 'Done'])
})
