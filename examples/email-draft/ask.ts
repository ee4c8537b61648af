import { createInterface } from 'node:readline'
import type { Interrupt } from 'millrace'

/** Ids of the offered answers. */
export const optionIdsOf = ({ input }: Interrupt): string[] =>
  input.kind === 'choice' ? input.options.map(({ id }) => id) : []

/** Asks in the terminal. Resolves with undefined without a terminal or an answer. */
export async function ask({ input }: Interrupt, terminal: typeof process.stdin): Promise<string | undefined> {
  if (input.kind !== 'choice') return undefined
  console.log(input.question)
  for (const { id, label, description } of input.options) console.log(`  ${id}: ${label}. ${description ?? ''}`)
  // A pipe can stay open forever without input.
  if (!terminal.isTTY) return undefined
  const lines = createInterface({ input: terminal })
  for await (const line of lines) if (line.trim() !== '') return line.trim()
  return undefined
}
