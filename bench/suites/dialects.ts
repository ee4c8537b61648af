import type { DialectName } from '../contenders/dialects.ts'
import type { Benchmark, Claim, Contender, Load, Suite } from '../harness/suite.ts'

const load: Load = { pieces: 1, items: 100_000 }
const warmUp: Load = { pieces: 3, items: 20_000 }
/** As many deltas as `load`, in 100 short answers instead of one. */
const short: Load = { pieces: 100, items: 1_000 }

/** Runs of about 25 steps. */
const steps: Load = { pieces: 20, items: 1_000 }

const dialectNames: readonly DialectName[] = ['mui', 'tanstack', 'tanstack 0.2', 'ai-sdk', 'ag-ui', 'kortyx', 'helix']

const dialectModule = () => import('../contenders/dialects.ts')
const ai = () => import('../contenders/ai.ts')
const tanstack = () => import('../contenders/tanstack.ts')

/** Encoding and decoding of an answer in each dialect. */
export const dialects: Suite = { name: 'dialects', benchmarks: () => [encode(), decode(), mixed(), growth()] }

const contender = (kind: Contender['kind'], name: string, prepare: Contender['prepare'], work = load): Contender => ({
  name,
  kind,
  load: work,
  warmUp,
  prepare,
})

const AI_ENCODER = 'AI SDK JsonToSseTransformStream'
const TANSTACK_ENCODER = 'TanStack toServerSentEventsStream'
const AI_DECODER = 'AI SDK DefaultChatTransport'
const TANSTACK_DECODER = 'TanStack fetchServerSentEvents'

const ours = (name: string) => `millrace, ${name}`

/** Ours costs at most half of the peer's own encoder or decoder. */
const halfCostClaims = (ai: string, tanstack: string): Claim[] => [
  { kind: 'ratio', of: ours('ai-sdk'), to: ai, atMost: 0.5 },
  { kind: 'ratio', of: ours('tanstack'), to: tanstack, atMost: 0.5 },
]

function encode(): Benchmark {
  return {
    name: 'encode',
    title: 'encode 100,000 text delta entries as Server-Sent Events of each dialect',
    item: 'chunk',
    contenders: [
      ...dialectNames.map(name =>
        contender('ours', ours(name), async (count, workIndex) =>
          (await dialectModule()).encodeDialect(name, count, workIndex),
        ),
      ),
      contender('peer', AI_ENCODER, async (count, workIndex) => (await ai()).aiEncode(count, workIndex)),
      contender('peer', TANSTACK_ENCODER, async (count, workIndex) =>
        (await tanstack()).tanstackEncode(count, workIndex),
      ),
    ],
    claims: halfCostClaims(AI_ENCODER, TANSTACK_ENCODER),
    notes: ['ours starts from log entries, the peers from their own events'],
  }
}

function decode(): Benchmark {
  return {
    name: 'decode',
    title: 'decode 100,000 Server-Sent Events of each dialect to chunks, in reads of 16 KB',
    item: 'chunk',
    contenders: [
      ...dialectNames.map(name =>
        contender('ours', ours(name), async (count, workIndex) =>
          (await dialectModule()).decodeDialect(name, count, workIndex),
        ),
      ),
      contender('peer', AI_DECODER, async (count, workIndex) => (await ai()).aiDecode(count, workIndex)),
      contender('peer', TANSTACK_DECODER, async (count, workIndex) =>
        (await tanstack()).tanstackDecode(count, workIndex),
      ),
    ],
    claims: halfCostClaims(AI_DECODER, TANSTACK_DECODER),
  }
}

function mixed(): Benchmark {
  return {
    name: 'mixed',
    title: 'encode and decode 20 runs of 1,000 entries each, with reasoning, text, calls, data and state',
    item: 'chunk',
    contenders: dialectNames.flatMap(name => [
      contender(
        'ours',
        `${name}, encode`,
        async (count, workIndex) => (await dialectModule()).encodeSteps(name, count, workIndex),
        steps,
      ),
      contender(
        'ours',
        `${name}, decode`,
        async (count, workIndex) => (await dialectModule()).decodeSteps(name, count, workIndex),
        steps,
      ),
    ]),
    claims: [],
    notes: ['informational: no peer carries all of these'],
  }
}

function growth(): Benchmark {
  const pair = (name: (typeof dialectNames)[number]) => [
    contender(
      'ours',
      `${name}, answers of 1,000`,
      async (count, workIndex) => (await dialectModule()).encodeDialect(name, count, workIndex),
      short,
    ),
    contender('ours', `${name}, one of 100,000`, async (count, workIndex) =>
      (await dialectModule()).encodeDialect(name, count, workIndex),
    ),
  ]
  return {
    name: 'growth',
    title: 'encode 100,000 chunks, in short answers and in one long answer',
    item: 'chunk',
    contenders: dialectNames.flatMap(pair),
    claims: dialectNames.map(name => ({
      kind: 'exponent',
      small: `${name}, answers of 1,000`,
      large: `${name}, one of 100,000`,
      under: 1.1,
    })),
  }
}
