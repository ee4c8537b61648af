/** Seeds that are always run, each with the bug that it found, by store. */
export const FAILED_SEEDS: Readonly<Record<string, readonly (readonly [seed: number, bug: string])[]>> = {}
