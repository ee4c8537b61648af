import type { Backend } from '../../contenders/log/target.ts'

/** Backends that store runs. */
export const backends: readonly Backend[] = ['memory', 'sqlite', 'redis', 'postgres']

/** Services that these backends need. */
export const needs = ['folder', 'redis', 'postgres'] as const
