/** Seeds of workflows that are always run, each with what it once found. */
export const KEPT: readonly (readonly [seed: number, found: string])[] = []
