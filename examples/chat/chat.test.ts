import { expect, test } from 'vitest'
import { stage, start } from './stage.fixture.ts'

const on = stage()

test('a chat, from typing to the answer, and again from its address', async () => {
  const url = await start(0.1).url
  const tab = await on.open(url)
  await tab.page.click('[data-program="assistant"]')
  await tab.page.keyboard.type('How is the weather in Paris?')
  await tab.page.keyboard.press('Enter')
  await tab.hears('rainy.')
  await tab.is('ready')
  expect(await tab.answers()).toEqual(['It is 23 degrees in Paris, and the sky is rainy.'])
  expect(await tab.page.locator('.reasoning .text').textContent()).toContain('weather in Paris')
  expect(await tab.page.locator('.tool .badge').textContent()).toBe('done')
  expect(await tab.page.locator('.sources a').getAttribute('href')).toBe('https://weather.example/paris')
  await tab.page.locator('.sessions button', { hasText: 'assistant: How is the weather in Paris?' }).waitFor()
  const address = tab.page.url()
  expect(new URL(address).searchParams.get('session')).toBeTruthy()

  const other = await on.open(address)
  await other.hears('rainy.')
  expect(await other.said()).toEqual(['How is the weather in Paris?'])
  expect(await other.page.locator('.program').inputValue()).toBe('agent:assistant')
})
