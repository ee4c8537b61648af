import { createInterface } from 'node:readline'
import { openStore } from '@millrace/log'
import { type Entry, Fold, type Interrupt } from '@millrace/protocol'
import { createRuntime, type Run } from '@millrace/runtime'
import { Screen } from './form.ts'
import { emailDraft } from './workflow.ts'

// `email-draft.ts` begins; `email-draft.ts s1` begins s1 or goes on with it; `email-draft.ts s1 warm` goes on with an answer.
const [, , session = crypto.randomUUID().slice(0, 8), given] = process.argv
const store = await openStore('sqlite:email-draft.db')
// An answer that has to be corrected is seen in the form: a warning would only stand in its way.
const logger = { warn: () => {}, error: console.error }
const runtime = createRuntime({ store, workflows: [emailDraft], log: { leaseMs: 2000 }, logger })
const screen = new Screen()
const fold = new Fold()

// The same id is the same run: whoever starts it again follows it from its beginning, and goes on where it stands.
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
  const response = (isAnswered ? undefined : given) ?? (await ask(pending.interrupt))
  if (response === undefined) {
    console.log(`${session} waits. Go on with: npm start ${session} <answer>`)
    break
  }
  isAnswered = true
  try {
    await runtime.answer(session, { kind: 'interrupt', id: pending.id, response })
  } catch (error) {
    // An answer that was not offered is refused, and the run waits on.
    console.log(String(error))
  }
}
await runtime.close()
await store.close()

/** Shows what a run says, to its next pause or its end. */
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

/** Asks who sits at the terminal; nothing where nobody does. */
async function ask({ input }: Interrupt): Promise<string | undefined> {
  if (input.kind !== 'choice') return undefined
  console.log(input.question)
  for (const { id, label, description } of input.options) console.log(`  ${id}: ${label}. ${description ?? ''}`)
  const lines = createInterface({ input: process.stdin })
  for await (const line of lines) if (line.trim() !== '') return line.trim()
  return undefined
}
