import { createInterface } from 'node:readline'
import type { Interrupt } from 'millrace'

/** The answers to choose from. */
export const offered = ({ input }: Interrupt): string[] =>
  input.kind === 'choice' ? input.options.map(({ id }) => id) : []

/** Asks who sits at the terminal; nothing where there is none, or nobody answers. */
export async function ask({ input }: Interrupt, terminal: typeof process.stdin): Promise<string | undefined> {
  if (input.kind !== 'choice') return undefined
  console.log(input.question)
  for (const { id, label, description } of input.options) console.log(`  ${id}: ${label}. ${description ?? ''}`)
  // A pipe may stay open for ever with nobody at its other end.
  if (!terminal.isTTY) return undefined
  const lines = createInterface({ input: terminal })
  for await (const line of lines) if (line.trim() !== '') return line.trim()
  return undefined
}
