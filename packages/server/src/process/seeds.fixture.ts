/** Seeds that are always run, each with what it once found, by store. */
export const KEPT: Readonly<Record<string, readonly (readonly [seed: number, found: string])[]>> = {
  sqlite: [
    [7, 'one who came after a rewind, and saw a request wait for ever whose run had been taken back'],
    [58, 'the end of a run that was told, with what lay between its pause and its end left out'],
  ],
}
