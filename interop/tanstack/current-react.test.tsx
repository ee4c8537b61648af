// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { openHouse } from '../house.fixture.ts'
import { Chat } from './current-page.tsx'
import { click, show } from './dom.fixture.tsx'

test('the hook of today shows an answer; a page that is opened again shows the question, and its approval resumes the run', async () => {
  const house = await openHouse()
  const url = `${house.url}/api/tanstack/seller`
  const first = show(<Chat url={url} threadId="s" />)
  click(first, 'send')
  await expect.poll(() => first.querySelector('[title=approve]')?.textContent).toBe('May sell run?')
  expect(first.textContent).toContain('May I?')

  const second = show(<Chat url={url} threadId="s" />)
  await expect.poll(() => second.querySelector('[title=approve]')?.textContent).toBe('May sell run?')
  click(second, 'approve')
  await expect.poll(() => second.textContent).toContain('So much for the flour.')
  expect(second.querySelector('em')).toBeNull()
  expect(second.querySelector('[title=approve]')).toBeNull()
  const view = await house.view('s')
  expect(view.runs.length).toBe(1)
  expect(view.messages.at(-1)?.parts).toContainEqual(expect.objectContaining({ output: { sold: 'flour' } }))
})
