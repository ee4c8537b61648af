/** Seeds of workflows that are always run, each with what it once found. */
export const KEPT: readonly (readonly [seed: number, found: string])[] = [
  [51, 'a step that had failed, and was done again when a model’s call had waited for approval'],
  [2020, 'a question that nobody answered in time, whose record lost what was counted by it: shown twice'],
]
