import { type Entry, Fold, foldLog, type Json, type View, type WriterOrigin } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { type Change, diffOf, pathText, type Segment } from './diff.ts'

const EMPTY = new Fold().view()
const viewOf = (fields: Partial<View>): View => ({ ...EMPTY, ...fields })

/** Applies changes in order. */
function applyChanges(before: Json, changes: readonly Change[]): Json {
  const root = structuredClone(before)
  for (const change of changes) make(root, change)
  return root
}

const namesOf = (item: Json): string => {
  const one = item as { [name: string]: Json }
  return String(one['id'] ?? one['key'])
}

function make(root: Json, change: Change): void {
  const into = (value: Json, segment: Segment): Json => {
    if (typeof segment !== 'object') return (value as { [name: string]: Json })[segment] as Json
    return (value as Json[]).find(item => namesOf(item) === segment.id) as Json
  }
  const last = change.path.at(-1) as Segment
  const parent = change.path.slice(0, -1).reduce(into, root)
  const holder = parent as { [name: string]: Json }
  const list = Array.isArray(parent) ? parent : []
  const index = typeof last === 'object' ? list.findIndex(item => namesOf(item) === last.id) : last
  switch (change.kind) {
    case 'added':
      if (Array.isArray(parent)) list.splice(change.index ?? list.length, 0, change.after)
      else holder[String(last)] = change.after
      break
    case 'removed':
      if (Array.isArray(parent)) list.splice(Number(index), 1)
      else delete holder[String(last)]
      break
    case 'changed':
      holder[index] = change.after
      break
    case 'text': {
      const text = String(holder[index])
      expect(text.slice(change.at, change.at + change.removed.length)).toBe(change.removed)
      holder[index] = text.slice(0, change.at) + change.inserted + text.slice(change.at + change.removed.length)
      expect(String(holder[index])).toHaveLength(change.length)
      break
    }
    case 'moved': {
      const items = holder[index] as Json[]
      items.sort((a, b) => change.order.indexOf(namesOf(a)) - change.order.indexOf(namesOf(b)))
    }
  }
}

const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: true }) as fc.Arbitrary<Json>
// Short texts, which are shown whole, and longer ones.
const text = fc.oneof(fc.string(), fc.string({ minLength: 55, maxLength: 90 }))
const parts = fc.uniqueArray(fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), text }), {
  selector: ({ key }) => key,
})
const messages = fc.uniqueArray(fc.record({ id: fc.constantFrom('m', 'n', 'o', 'p'), parts }), {
  selector: ({ id }) => id,
})
const views = fc.record({ state: json, messages }).map(fields => viewOf(fields as unknown as Partial<View>))

describe('diffOf', () => {
  test('returns changes that turn the old view into the new one', () => {
    fc.assert(
      fc.property(views, views, (before, after) => {
        const { changes, isTruncated } = diffOf(before, after, 1e6)
        expect(isTruncated).toBe(false)
        expect(applyChanges(before as unknown as Json, changes)).toEqual(after)
      }),
      { numRuns: multiplied(500) },
    )
  })

  test('returns no changes for equal views', () => {
    fc.assert(
      fc.property(views, view => {
        expect(diffOf(view, structuredClone(view)).changes).toEqual([])
      }),
    )
  })

  const origin: WriterOrigin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
  const logOf = (...chunks: Entry['chunk'][]): Entry[] =>
    chunks.map((chunk, i) => ({ sequence: i + 1, timestamp: i, origin, chunk }))
  const log = logOf(
    { type: 'run-started', program: 'agent:teller@1' },
    { type: 'start' },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Once ' },
    { type: 'text-delta', id: 't', delta: 'upon' },
    { type: 'state-snapshot', state: { found: ['a', 'b'] } },
    { type: 'state-patch', patches: [{ op: 'add', path: '/found/1', value: 'c' }] },
  )
  const step = (count: number) => diffOf(foldLog(log.slice(0, count - 1)).view(), foldLog(log.slice(0, count)).view())
  const lines = (count: number) => step(count).changes.map(change => `${change.kind} ${pathText(change.path)}`)

  test('reports a delta as inserted text', () => {
    expect(step(5).changes).toEqual([
      {
        path: ['messages', { id: 'r::r' }, 'parts', { id: 'text:t' }, 'text'],
        kind: 'text',
        at: 5,
        removed: '',
        inserted: 'upon',
        length: 9,
      },
    ])
    expect(lines(5)).toEqual(['text messages[r::r].parts[text:t].text'])
  })

  test('reports a replaced status whole, and the replaced part of a long text', () => {
    const withState = (state: Json) => viewOf({ state })
    const long = (word: string) => `${'water '.repeat(20)}${word} mill`
    expect(diffOf(withState({ is: 'input-streaming' }), withState({ is: 'input-available' })).changes).toEqual([
      { path: ['state', 'is'], kind: 'changed', before: 'input-streaming', after: 'input-available' },
    ])
    expect(diffOf(withState(long('old')), withState(long('new'))).changes).toMatchObject([
      { path: ['state'], kind: 'text', at: 120, removed: 'old', inserted: 'new' },
    ])
  })

  test('reports a patch as an added item', () => {
    expect(lines(6)).toEqual(['added state'])
    expect(step(7).changes).toEqual([{ path: ['state', 'found', 1], kind: 'added', after: 'c', index: 1 }])
  })

  test('stops at a maximum number of changes', () => {
    const list = (length: number) => viewOf({ state: Array.from({ length }, (_, i) => i) })
    const { changes, isTruncated } = diffOf(list(0), list(500))
    expect(changes).toHaveLength(200)
    expect(isTruncated).toBe(true)
  })

  test('skips unchanged messages by identity in a long session', () => {
    const fold = new Fold()
    const log = Array.from({ length: 5000 }, (_, i): Entry[] => {
      const at = { ...origin, runId: `r${i}`, agentId: `r${i}` }
      const put = (n: number, chunk: Entry['chunk']) => ({ sequence: i * 3 + n, timestamp: i, origin: at, chunk })
      return [
        put(1, { type: 'run-started', program: 'agent:teller@1' }),
        put(2, { type: 'text-delta', id: 't', delta: 'Once' }),
        put(3, { type: 'run-finished', status: 'completed' }),
      ]
    }).flat()
    fold.apply(log.slice(0, -1))
    const before = fold.view()
    fold.apply(log.slice(-1))
    const after = fold.view()
    const shared = before.messages.filter((message, i) => message === after.messages[i]).length
    expect(shared).toBe(4999)
    expect(diffOf(before, after).changes.every(({ path }) => JSON.stringify(path).includes('r4999'))).toBe(true)
  })
})
