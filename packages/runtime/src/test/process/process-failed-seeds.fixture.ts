/** Seeds that are always run, each with what it once found, by store. */
export const FAILED_SEEDS: Readonly<Record<string, readonly (readonly [seed: number, found: string])[]>> = {}
