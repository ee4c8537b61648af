// What the entries of these schedules carry: tokens, each written once in the life of a log, so that whoever reads it can tell what was lost,
// doubled or put out of order.

import type { Chunk } from '@millrace/protocol'

/** Who said it, on which line of work, and as the how-manieth. */
export interface Token {
  readonly text: string
  readonly by: string
  readonly line: string
  readonly n: number
}

const TOKEN = /\[([\w-]+)\.([\w-]+)\.(\d+)\]/g

export const tokenOf = (by: string, line: string, n: number): string => `[${by}.${line}.${n}]`

/** The tokens that a chunk carries, in order. */
export function tokensIn(chunk: Chunk): Token[] {
  return Array.from(JSON.stringify(chunk).matchAll(TOKEN), ([text, by = '', line = '', n]) => {
    return { text, by, line, n: Number(n) }
  })
}
