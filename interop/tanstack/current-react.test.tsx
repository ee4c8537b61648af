// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { openBackend } from '../backend.fixture.ts'
import { click, mount } from '../mount.fixture.tsx'
import { Chat } from './current-page.tsx'

test('the current hook shows an answer; a reopened page shows the approval and resumes the run', async () => {
  const backend = await openBackend()
  const url = `${backend.url}/api/tanstack/seller`
  const first = mount(<Chat url={url} threadId="s" />).element
  click(first, 'send')
  await expect.poll(() => first.querySelector('[title=approve]')?.textContent).toBe('May sell run?')
  expect(first.textContent).toContain('May I?')

  const second = mount(<Chat url={url} threadId="s" />).element
  await expect.poll(() => second.querySelector('[title=approve]')?.textContent).toBe('May sell run?')
  click(second, 'approve')
  await expect.poll(() => second.textContent).toContain('So much for the flour.')
  expect(second.querySelector('em')).toBeNull()
  expect(second.querySelector('[title=approve]')).toBeNull()
  const view = await backend.view('s')
  expect(view.runs.length).toBe(1)
  expect(view.messages.at(-1)?.parts).toContainEqual(expect.objectContaining({ output: { sold: 'flour' } }))
})
