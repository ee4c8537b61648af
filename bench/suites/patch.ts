import { deepStrictEqual } from 'node:assert/strict'
import type { Json, Operation } from '@millrace/protocol'
import { memo } from '../fixtures/memo.ts'
import { seededRandom, words } from '../fixtures/random.ts'
import { parsed } from '../fixtures/text.ts'
import { type Contender, type Job, job, type Load, type Suite } from '../harness/suite.ts'

const RECORDS = 100
const warmUp: Load = { pieces: 2, items: 1000 }

/** JSON Patches applied in sequence to immutable state. */
export const patch: Suite = {
  name: 'patch',
  benchmarks: () => {
    const load = { pieces: 1, items: 1000 }
    const contender = (kind: Contender['kind'], name: string, apply: () => Promise<Apply>): Contender => {
      return { name, kind, load, warmUp, prepare: async count => patchJob(count, await apply()) }
    }
    return [
      {
        name: 'apply',
        title: `${load.items.toLocaleString('en')} patches of 1 to 3 operations on a state of ${RECORDS} records`,
        item: 'patch',
        reference: 'millrace',
        contenders: [
          contender('ours', 'millrace', millrace),
          contender('peer', 'rfc6902, on a structured clone', rfc6902),
          contender('peer', 'fast-json-patch, which clones', fastJsonPatch),
          contender('floor', 'fast-json-patch, in place', fastJsonPatchInPlace),
        ],
        claims: [
          { kind: 'ratio', of: 'millrace', to: 'rfc6902, on a structured clone' },
          { kind: 'ratio', of: 'millrace', to: 'fast-json-patch, which clones' },
          { kind: 'ratio', of: 'millrace', to: 'fast-json-patch, in place' },
        ],
        notes: ['in place is a weaker contract: earlier states change, and a failed patch stays half applied'],
      },
    ]
  },
}

/** Returns the state after a patch. */
type Apply = (state: Json, operations: Operation[]) => Json

const millrace = async (): Promise<Apply> => {
  const { applyPatch } = await import('@millrace/protocol')
  return (state, operations) => applyPatch(state, operations) as Json
}

const rfc6902 = async (): Promise<Apply> => {
  const { applyPatch } = await import('rfc6902')
  return (state, operations) => {
    const next = structuredClone(state)
    if (applyPatch(next, operations).some(error => error !== null)) throw new Error('a patch failed')
    return next
  }
}

const fastJsonPatch = async (): Promise<Apply> => {
  const { default: library } = await import('fast-json-patch')
  return (state, operations) => library.applyPatch(state, operations, true, false).newDocument
}

const fastJsonPatchInPlace = async (): Promise<Apply> => {
  const { default: library } = await import('fast-json-patch')
  return (state, operations) => library.applyPatch(state, operations, true, true).newDocument
}

function patchJob(count: number, apply: Apply): Job {
  const { start, patches, expected } = patchesOf(count)
  const copy = structuredClone(start)
  return job(
    () => {
      let state = copy
      for (const operations of patches) state = apply(state, operations)
      return state
    },
    state => deepStrictEqual(state, expected),
  )
}

interface Record {
  name: string
  count: number
  tags: string[]
}

/** Patches like those of an agent's tools, and the expected final state, made by plain assignments. */
const patchesOf = memo((count: number): { start: Json; patches: Operation[][]; expected: unknown } => {
  const next = seededRandom(count)
  const state = {
    title: 'state',
    records: Array.from({ length: RECORDS }, (): Record => ({ name: words(next, 3), count: 0, tags: [] })),
    index: {} as { [key: string]: number },
  }
  const start = structuredClone(state) as unknown as Json
  const patches = Array.from({ length: count }, () => {
    const operations: Operation[] = []
    for (let i = 0; i <= next(3); i++) operations.push(operation(state, next))
    return operations
  })
  return { start, patches: parsed(patches), expected: state }
})

function operation(
  state: { records: Record[]; index: { [key: string]: number } },
  next: (bound: number) => number,
): Operation {
  const at = next(RECORDS)
  const record = state.records[at] as Record
  const key = `key-${next(50)}`
  switch (next(5)) {
    case 0:
      record.count++
      return { op: 'replace', path: `/records/${at}/count`, value: record.count }
    case 1:
      if (record.tags.length === 5) {
        record.tags.shift()
        return { op: 'remove', path: `/records/${at}/tags/0` }
      }
      record.tags.push(key)
      return { op: 'add', path: `/records/${at}/tags/-`, value: key }
    case 2:
      state.index[key] = at
      return { op: 'add', path: `/index/${key}`, value: at }
    case 3:
      return { op: 'test', path: `/records/${at}/count`, value: record.count }
    default:
      state.index[key] = record.count
      return { op: 'copy', from: `/records/${at}/count`, path: `/index/${key}` }
  }
}
