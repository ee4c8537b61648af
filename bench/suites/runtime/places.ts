import type { Backend } from '../../contenders/log/target.ts'

/** Where runs are kept. */
export const backends: readonly Backend[] = ['memory', 'sqlite', 'redis', 'postgres']

/** What has to be there for that. */
export const needs = ['folder', 'redis', 'postgres'] as const
