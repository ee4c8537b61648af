import { strictEqual } from 'node:assert/strict'
import type { Chunk } from '@millrace/protocol'
import { chunkMix } from '../fixtures/chunks.ts'
import { type Benchmark, type Contender, type Job, job, type Load, type Suite } from '../harness/suite.ts'

/** Number of distinct chunks, which are repeated. */
const DISTINCT = 2000
const warmUp: Load = { pieces: 1, items: 300_000 }

/** Validation of parsed chunks. */
export const validate: Suite = {
  name: 'validate',
  benchmarks: () => {
    const load = { pieces: 1, items: 1_000_000 }
    return [
      benchmark('text', load, 'three quarters of them text deltas, the others of all types in equal numbers'),
      benchmark('uniform', load, 'all types in equal numbers'),
    ]
  },
}

type Validate = (chunk: unknown) => boolean

const millrace = async (): Promise<Validate> => {
  const { checkChunk } = await import('@millrace/protocol/internal')
  return chunk => checkChunk(chunk) === undefined
}

const chunkSchema = async (): Promise<Validate> => {
  const { ChunkSchema } = await import('@millrace/protocol/schemas')
  return chunk => ChunkSchema.safeParse(chunk).success
}

const plainZod = async (): Promise<Validate> => {
  const { plainUnion } = await import('../contenders/zod.ts')
  const schema = plainUnion()
  return chunk => schema.safeParse(chunk).success
}

function benchmark(mix: 'text' | 'uniform', load: Load, title: string): Benchmark {
  const contender = (kind: Contender['kind'], name: string, validator: () => Promise<Validate>): Contender => {
    return { name, kind, load, warmUp, prepare: async count => validateJob(count, mix, await validator()) }
  }
  return {
    name: mix,
    title: `validate parsed chunks, ${title}`,
    item: 'chunk',
    reference: 'millrace checkChunk',
    contenders: [
      contender('ours', 'millrace checkChunk', millrace),
      contender('peer', 'a zod discriminatedUnion', plainZod),
      contender('peer', 'our ChunkSchema (zod)', chunkSchema),
    ],
    claims: [
      { kind: 'cost', of: 'millrace checkChunk', atMost: 150 },
      { kind: 'ratio', of: 'millrace checkChunk', to: 'a zod discriminatedUnion' },
    ],
    notes: ['the plain union checks no nested types and knows fewer chunk types, which favours it'],
  }
}

function validateJob(count: number, mix: 'text' | 'uniform', isValid: Validate): Job {
  const chunks = chunkMix(mix, DISTINCT)
  return job(
    () => {
      let valid = 0
      for (let i = 0; i < count; i++) if (isValid(chunks[i % DISTINCT])) valid++
      return valid
    },
    valid => {
      strictEqual(valid, count)
      for (const chunk of chunks) for (const broken of corruptVariants(chunk)) strictEqual(isValid(broken), false)
    },
  )
}

/** Variants of a chunk, each with one corrupted string. */
function* corruptVariants(chunk: Chunk): Iterable<object> {
  for (const [key, value] of Object.entries(chunk)) {
    if (typeof value === 'string') yield { ...chunk, [key]: 1 }
  }
}
