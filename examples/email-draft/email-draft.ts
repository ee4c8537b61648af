import { Fold } from '@millrace/protocol'
import { createRuntime, type Entry, openStore, type Run } from 'millrace'
import { ask, optionIdsOf } from './ask.ts'
import { Screen } from './form.ts'
import { emailDraft } from './workflow.ts'

// `email-draft.ts` starts a session; `email-draft.ts s1` starts or continues s1; `email-draft.ts s1 warm` continues with an answer.
const [, , session = crypto.randomUUID().slice(0, 8), answerText] = process.argv
if (!/^[\w.-]{1,64}$/.test(session)) {
  console.error('Expected a session name of 1 to 64 letters, digits, _, . and -')
  process.exit(1)
}
const store = await openStore('sqlite:email-draft.db')
// Corrections show in the form. Warnings would break its drawing.
const logger = { warn: () => {}, error: console.error }
const runtime = createRuntime({ store, workflows: [emailDraft], logger })
const screen = new Screen()
const fold = new Fold()

// A start with the id of an existing run starts no second one: it follows that run from its beginning and continues it.
const run = await runtime.start({
  session,
  runId: session,
  workflow: emailDraft,
  input: 'Invite Ann to our party at the mill.',
})
let isAnswered = false
for (;;) {
  await follow(run)
  const { status, pendings, output, error } = await run.result()
  const [pending] = pendings
  if (pending?.kind !== 'interrupt') {
    if (output) screen.done(fold.view().structured[0])
    console.log(error ? `${status}: ${error.message}` : status)
    break
  }
  const response = (isAnswered ? undefined : answerText) ?? (await ask(pending.interrupt, process.stdin))
  if (response === undefined) {
    console.log(`${session} is waiting. Continue with: npm start ${session} <answer>`)
    break
  }
  isAnswered = true
  try {
    await runtime.answer(session, { kind: 'interrupt', id: pending.id, response })
  } catch (error) {
    // An answer that was not offered is rejected, and the run keeps waiting.
    if ((error as { code?: string }).code !== 'answer_invalid') throw error
    console.log(`Expected one of these answers, found ${response}: ${optionIdsOf(pending.interrupt).join(', ')}`)
  }
}
await runtime.close()
await store.close()

/** Shows a run up to its next pause or its end. */
async function follow(run: Run): Promise<void> {
  for await (const entry of run.stream({ after: fold.head })) {
    fold.apply([entry as Entry], entry.sequence)
    const { chunk } = entry
    const [email] = fold.view().structured
    if (chunk.type === 'status') console.log(chunk.message)
    else if (chunk.type === 'step-discarded') screen.draw(email, 'taken back')
    else if (chunk.type === 'structured-data') {
      screen.draw(email, 'path' in chunk ? `${chunk.kind} ${chunk.path}` : chunk.kind)
    }
  }
}
