// A session with many turns, in a file that our runtime wrote turn by turn.
import { copyFileSync, existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { answer } from '../../fixtures/text.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import { modelOf, textParts } from '../runtime/model.ts'

export const SESSION = 'cold'
export const AGENT = 'bench'

/** Tokens of an answer. */
const TOKENS = 30

/** Tokens of the answer to a turn. Only the turn number differs. */
export const wordsOf = (number: number): string[] => [`${number}.`, ...answer(TOKENS, 0).deltas]

/** Returns a writable copy of the file. The first process of a run that needs the file creates it. */
export async function copySessionFile(turns: number): Promise<string> {
  const copy = join(serviceUrl('folder'), `copy-${crypto.randomUUID()}.db`)
  copyFileSync(await sessionFile(turns), copy)
  return copy
}

const sessionFile = openOnce(async (turns: number): Promise<string> => {
  const path = join(serviceUrl('folder'), `turns-${turns}.db`)
  if (existsSync(path)) return path
  const { agent, createRuntime } = await import('@millrace/runtime')
  const { sqliteStore } = await import('@millrace/log/sqlite')
  const partial = join(serviceUrl('folder'), `partial-${crypto.randomUUID()}.db`)
  const store = sqliteStore({ path: partial })
  let number = 0
  const program = agent({ name: AGENT, model: modelOf(() => textParts(wordsOf(number))) })
  const runtime = createRuntime({ store, agents: [program] })
  for (; number < turns; number++) {
    const run = await runtime.start({ session: SESSION, agent: program, input: `Turn ${number}?` })
    const { status } = await run.result()
    if (status !== 'completed') throw new Error(`expected a completed turn, found ${status}`)
    await turn()
  }
  await runtime.close()
  await store.close()
  renameSync(partial, path)
  return path
})
