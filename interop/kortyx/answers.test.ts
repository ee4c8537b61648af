import { agent, scriptedModel } from '@millrace/runtime'
import { expect, test } from 'vitest'
import { sell } from '../backend.fixture.ts'
import { Page, pageOf, textsOf } from './kortyx-page.fixture.ts'

test('an approval is a choice with the input of its call, answered by yes and by no', async () => {
  for (const choice of ['approve', 'deny']) {
    const { backend, page } = await pageOf('seller')
    await page.send('sell')
    expect(page.last.types.slice(-4)).toEqual(['tool-call-start', 'interrupt', 'checkpoint', 'done'])
    const [question] = page.questions
    expect(question?.input).toMatchObject({ kind: 'choice', options: [{ id: 'approve' }, { id: 'deny' }] })
    expect(question?.meta).toMatchObject({ tool: 'sell', input: { what: 'flour' } })
    if (question) await page.respond(question, [choice])
    expect(textsOf(page)).toEqual(['So much for the flour.'])
    expect((await backend.view('s')).messages.at(-1)?.parts.find(part => 'approval' in part)).toMatchObject({
      state: choice === 'approve' ? 'output-available' : 'output-denied',
    })
    expect(page.messages.length).toBe(4)
    const forged = new Page(`${backend.url}/api/kortyx/seller`)
    // The other answer with a used token.
    if (question) await forged.respond(question, [choice === 'approve' ? 'deny' : 'approve'])
    expect([forged.status, forged.refusal?.code]).toEqual([409, 'answer_already_settled'])
  }
})

test('a client tool is a text interrupt, answered with JSON', async () => {
  const { backend, page } = await pageOf('guide')
  await page.send('where?')
  const [question] = page.questions
  expect(question).toMatchObject({ input: { kind: 'text' }, meta: { kind: 'client-tool', input: { precise: false } } })
  if (question) await page.respond(question, ['{"city":"Ulm"}'])
  expect(textsOf(page)).toEqual(['Now I know.'])
  expect(JSON.stringify((await backend.view('s')).messages)).toContain('"output":{"city":"Ulm"}')
})

test('a token resumes its interrupt once, and only in its session', async () => {
  const { backend, page } = await pageOf('asker')
  await page.send('ask')
  const [question] = page.questions
  if (!question) throw new Error('expected an interrupt, found none')
  const other = new Page(`${backend.url}/api/kortyx/asker`, 'other')
  await other.send('ask')
  const refused = async (where: Page, ...args: Parameters<Page['respond']>) => {
    await where.respond(...args)
    return [where.status, where.refusal?.code, typeof where.refusal?.error]
  }
  const { requestId } = question
  expect(await refused(other, question, ['rye'])).toEqual([404, 'answer_unknown', 'string'])
  expect(await refused(page, { requestId, resumeToken: requestId }, ['rye'])).toEqual([404, 'answer_unknown', 'string'])
  const unknown = new Page(`${backend.url}/api/kortyx/asker`, 'unknown')
  expect(await refused(unknown, question, ['rye'])).toEqual([404, 'session_unknown', 'string'])
  for (const selection of [['wheat'], ['rye', 'oats'], []])
    expect(await refused(page, question, selection)).toEqual([400, 'answer_invalid', 'string'])
  expect((await backend.view('s')).pendings.length).toBe(1)
  await page.respond(question, ['rye'])
  expect(textsOf(page)).toEqual(['You chose "rye".'])
  // A repeated answer is a repeated request: it returns the outcome and runs nothing twice.
  await page.respond(question, ['rye'])
  expect(textsOf(page)).toEqual(['You chose "rye".'])
  expect(await refused(page, question, ['oats'])).toEqual([409, 'answer_already_settled', 'string'])
  expect((await backend.view('s')).runs.length).toBe(1)
  // Answers in the history of a page are not turns.
  await page.send('ask me again')
  expect(page.questions.length).toBe(1)
  expect((await backend.view('s')).runs.length).toBe(2)
  expect(await refused(page, question, ['rye'])).toEqual([409, 'answer_already_settled', 'string'])
})

test('rejects a token of a deleted session that was created again with the same request', async () => {
  const { backend, page } = await pageOf('seller')
  await page.send('sell')
  const [before] = page.questions
  await fetch(`${backend.url}/api/sessions/s`, { method: 'DELETE' })
  const again = new Page(`${backend.url}/api/kortyx/seller`)
  await again.send('sell')
  const [question] = again.questions
  if (!before || !question) throw new Error('expected two interrupts')
  expect(question.requestId).toBe(before.requestId)
  await page.respond(before, ['approve'])
  expect([page.status, page.refusal?.code]).toEqual([404, 'answer_unknown'])
  expect((await backend.view('s')).pendings).toHaveLength(1)
  await again.respond(question, ['approve'])
  expect(textsOf(again)).toEqual(['So much for the flour.'])
})

test('rejects a token of another user, and an answer without permission', async () => {
  const { backend } = await pageOf('asker', {
    authorize: ({ request, action }) => {
      const user = request.headers.get('x-user') ?? ''
      return user === 'eve' && action === 'answer'
        ? { refuse: 'ask ann' }
        : { principal: user === 'bob' ? 'bob' : 'ann' }
    },
  })
  const as = (user: string) => new Page(`${backend.url}/api/kortyx/asker`, 's', { 'x-user': user })
  const ann = as('ann')
  await ann.send('ask')
  const [question] = ann.questions
  if (!question) throw new Error('expected an interrupt, found none')
  for (const [user, status, code] of [
    ['bob', 404, 'session_unknown'],
    ['eve', 403, 'forbidden'],
  ] as const) {
    const other = as(user)
    await other.respond(question, ['rye'])
    expect([other.status, other.refusal?.code]).toEqual([status, code])
  }
  await ann.respond(question, ['rye'])
  expect(textsOf(ann)).toEqual(['You chose "rye".'])
})

test('of two concurrent answers with one token, one wins', async () => {
  const { backend, page } = await pageOf('asker')
  await page.send('ask')
  const [question] = page.questions
  const answer = async (choice: string) => {
    const other = new Page(`${backend.url}/api/kortyx/asker`)
    if (question) await other.respond(question, [choice])
    return other.status
  }
  expect((await Promise.all([answer('rye'), answer('oats')])).sort()).toEqual([200, 409])
})

test('a new message cancels an interrupt', async () => {
  const { backend, page } = await pageOf('asker')
  await page.send('ask')
  const [question] = page.questions
  if (question) await page.respond(question, ['never mind'], { cancel: true })
  expect(page.questions.length).toBe(1)
  const { runs, messages } = await backend.view('s')
  expect(runs.map(({ status }) => status)).toEqual(['interrupted', 'paused'])
  expect(messages.filter(({ role }) => role === 'user').length).toBe(2)
  if (question) await page.respond(question, ['never mind'], { cancel: true })
  expect([page.status, page.refusal?.code]).toEqual([409, 'answer_already_settled'])
})

test('several interrupts can be pending, and open ones are sent again', async () => {
  const seller = agent({
    name: 'twice',
    tools: [sell],
    model: scriptedModel(({ turnAnswers, key }) =>
      turnAnswers > 0
        ? { text: 'Well.' }
        : { calls: ['rye', 'oats'].map(what => ({ name: 'sell', input: { what }, id: `${key}-${what}` })) },
    ),
  })
  const { backend, page } = await pageOf('twice', { agents: [seller], workflows: [] })
  await page.send('sell both')
  const inputs = () => page.questions.map(({ meta }) => meta?.['input'])
  expect(inputs()).toEqual([{ what: 'rye' }, { what: 'oats' }])
  if (page.questions[0]) await page.respond(page.questions[0], ['approve'])
  expect(inputs()).toEqual([{ what: 'oats' }])
  if (page.questions[0]) await page.respond(page.questions[0], ['deny'])
  expect(textsOf(page)).toEqual(['Well.'])
  const states = (await backend.view('s')).messages.flatMap(({ parts }) =>
    parts.flatMap(part => ('toolCallId' in part ? [part.state] : [])),
  )
  expect(states).toEqual(['output-available', 'output-denied'])
})
