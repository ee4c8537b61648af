import { Random } from './random.fixture.ts'

/** The kind of a call: decides its pending. */
type CallKind = 'server' | 'approved' | 'client' | 'approved-client' | 'agent' | 'question'

export interface ScriptCall {
  readonly id: string
  readonly kind: CallKind
  /** When its answer is late: soon, not within this schedule, or never. */
  readonly deadline: 'none' | 'soon' | 'far'
  /** How often it reports progress. */
  readonly progress: number
  /** Whether its output is stored as a blob. */
  readonly isLarge: boolean
  /** The script of a child agent. */
  readonly steps: readonly ScriptStep[]
}

export interface ScriptStep {
  /** Number of text deltas. */
  readonly deltas: number
  readonly hasReasoning: boolean
  readonly extra: 'none' | 'data' | 'transient' | 'structured' | 'metadata'
  readonly calls: readonly ScriptCall[]
}

/** The script of a run, from its id alone: every driver follows the same script. */
export function scriptOf(seed: number, runId: string): readonly ScriptStep[] {
  return stepsOf(new Random(seed).fork(runId), runId, 0)
}

function stepsOf(random: Random, name: string, depth: number): ScriptStep[] {
  return Array.from({ length: random.between(1, depth === 0 ? 3 : 2) }, (_, step) => ({
    deltas: random.between(1, 4),
    hasReasoning: random.chance(0.3),
    extra: random.pick(['none', 'none', 'data', 'transient', 'structured', 'metadata']),
    calls: Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, (_, i) => {
      const id = `${name}.${step}.${i}`
      const kind = random.weighted<CallKind>([
        [3, 'server'],
        [2, 'approved'],
        [2, 'client'],
        [1, 'approved-client'],
        [2, 'question'],
        [depth < 2 ? 3 : 0, 'agent'],
      ])
      return {
        id,
        kind,
        deadline: random.weighted([
          [5, 'none'],
          [2, 'far'],
          [1, 'soon'],
        ]),
        progress: random.below(3),
        isLarge: random.chance(0.15),
        steps: kind === 'agent' ? stepsOf(random, id, depth + 1) : [],
      }
    }),
  }))
}
