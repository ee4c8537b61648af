// A session of so many turns, in a file that our own runtime wrote turn by turn.
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

/** What the answer to a turn is, token by token: the same each time, but for the number of the turn. */
export const wordsOf = (number: number): string[] => [`${number}.`, ...answer(TOKENS, 0).deltas]

/** Where a copy of the file is that the caller may write to; the first process of a run that needs it fills it. */
export async function copyOf(turns: number): Promise<string> {
  const copy = join(serviceUrl('folder'), `copy-${crypto.randomUUID()}.db`)
  copyFileSync(await filled(turns), copy)
  return copy
}

const filled = openOnce(async (turns: number): Promise<string> => {
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
    if (status !== 'completed') throw new Error(`a turn is ${status}`)
    await turn()
  }
  await runtime.close()
  await store.close()
  renameSync(partial, path)
  return path
})
