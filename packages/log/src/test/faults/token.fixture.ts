// Content of the entries: tokens, each written once per log, so that a reader detects loss, duplication and
// reordering.

import type { Chunk } from '@millrace/protocol'

/** The writer, the lane and the number of a token. */
export interface Token {
  readonly text: string
  readonly by: string
  readonly line: string
  readonly n: number
}

const TOKEN = /\[([\w-]+)\.([\w-]+)\.(\d+)\]/g

export const tokenOf = (by: string, line: string, n: number): string => `[${by}.${line}.${n}]`

/** The tokens of a chunk, in order. */
export function tokensIn(chunk: Chunk): Token[] {
  return Array.from(JSON.stringify(chunk).matchAll(TOKEN), ([text, by = '', line = '', n]) => {
    return { text, by, line, n: Number(n) }
  })
}
