// @vitest-environment jsdom
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openBackend, sell } from '../backend.fixture.ts'
import { click, mount } from '../mount.fixture.tsx'
import { Chat } from './legacy-page.tsx'

const buttonAppears = (page: HTMLElement, title: string) =>
  expect.poll(() => page.querySelector(`[title=${title}]`)).not.toBeNull()
const textOf = (page: HTMLElement) => [...page.querySelectorAll('section')].map(({ textContent }) => textContent)

test('the 0.2 hook shows an answer, and an approval continues automatically', async () => {
  const backend = await openBackend()
  const page = mount(<Chat url={`${backend.url}/api/tanstack/seller`} id="s" />).element
  await buttonAppears(page, 'send')
  click(page, 'send')
  await expect.poll(() => page.querySelector('[title=approve]')?.textContent).toBe('sell')
  expect(page.textContent).toContain('May I?')
  click(page, 'approve')
  await expect.poll(() => page.textContent).toContain('So much for the flour.')
  expect(page.querySelector('em')).toBeNull()
  expect((await backend.view('s')).messages.at(-1)?.parts).toContainEqual(
    expect.objectContaining({ output: { sold: 'flour' } }),
  )
})

test('a reloaded page shows the history, joins the paused run and continues', async () => {
  const backend = await openBackend()
  const open = () => mount(<Chat url={`${backend.url}/api/tanstack/seller`} id="s" />).element
  const first = open()
  await buttonAppears(first, 'send')
  click(first, 'send')
  await buttonAppears(first, 'approve')
  const second = open()
  await buttonAppears(second, 'approve')
  expect(textOf(second)).toEqual(['sell', 'May I?sell'])
  click(second, 'approve')
  await expect.poll(() => second.textContent).toContain('So much for the flour.')
  const third = open()
  await expect.poll(() => textOf(third)).toEqual(['sell', 'May I? So much for the flour.'])
  click(third, 'send')
  await buttonAppears(third, 'approve')
  click(third, 'approve')
  await expect.poll(() => textOf(third).at(-1)).toBe('So much for the flour.')
  expect([first, second, third].map(page => page.querySelector('em'))).toEqual([null, null, null])
  expect((await backend.view('s')).runs.map(({ status }) => status)).toEqual(['completed', 'completed'])
})

test('a page that is loaded during an answer joins it', async () => {
  const backend = await openBackend()
  const open = () => mount(<Chat url={`${backend.url}/api/tanstack/holder`} id="s" />).element
  const first = open()
  await buttonAppears(first, 'send')
  click(first, 'send')
  await backend.gate.reached
  const second = open()
  await expect.poll(() => textOf(second)).toEqual(['sell', 'one two '])
  backend.gate.open()
  await expect.poll(() => textOf(second)).toEqual(['sell', 'one two three four'])
  expect(backend.calls['holder']).toBe(1)
})

test('approvals next to a server call continue when all are decided', async () => {
  const weigh = tool({ name: 'weigh', inputSchema: z.object({ what: z.string() }), execute: () => 4 })
  const names = ['sell', 'weigh', 'sell'] as const
  const both = agent({
    name: 'both',
    tools: [sell, weigh],
    model: scriptedModel(({ turnAnswers, key }) =>
      turnAnswers === 0
        ? { calls: names.map((name, i) => ({ name, input: { what: 'rye' }, id: `${key}-${i}` })) }
        : { text: 'All of it.' },
    ),
  })
  const backend = await openBackend({ agents: [both] })
  const page = mount(<Chat url={`${backend.url}/api/tanstack/both`} id="s" />).element
  await buttonAppears(page, 'send')
  click(page, 'send')
  const approvalButtons = () => page.querySelectorAll('[title=approve]').length
  await expect.poll(approvalButtons).toBe(2)
  click(page, 'approve')
  await expect.poll(approvalButtons).toBe(1)
  expect((await backend.view('s')).pendings.length).toBe(2)
  click(page, 'approve')
  await expect.poll(() => textOf(page).at(-1)).toBe('All of it.')
  expect(page.querySelector('em')).toBeNull()
})
