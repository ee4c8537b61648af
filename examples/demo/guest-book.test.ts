import { expect, test } from 'vitest'
import { demoRuntime } from './demo-runtime.fixture.ts'

const on = demoRuntime()

test('asks for text, a choice, multiple choices and a form, in order', async () => {
  const run = await on.runtime.start({ session: on.session, workflow: 'guest-book', input: 'A visit' })
  const answers = ['Ann', 'race', ['wheel', 'race'], { stars: 'three', visitors: 2, again: true }]
  const kinds: string[] = []
  for (const response of answers) {
    const { pendings } = await run.result()
    const [pending] = pendings
    if (pending?.kind !== 'interrupt') throw new Error('Expected a pending question.')
    kinds.push(pending.interrupt.input.kind)
    await on.runtime.answer(on.session, { kind: 'interrupt', id: pending.id, response })
  }
  expect(kinds).toEqual(['text', 'choice', 'multi-choice', 'form'])
  expect((await run.result()).status).toBe('completed')
  const { messages } = await on.view()
  const text = messages
    .at(-1)
    ?.parts.map(part => (part.type === 'text' ? part.text : ''))
    .join('')
  expect(text).toBe('Thank you, Ann! 2 visitors, three of three stars. You saw wheel, race, and liked the race best.')
})
