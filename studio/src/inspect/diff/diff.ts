// The difference between two views. Skips unchanged parts by identity.

import type { Json, View } from '@millrace/protocol'
import { equalJson } from '../equal-json.ts'

/** A segment of a path: a field, an index, or the id of a list item. */
export type Segment = string | number | { readonly id: string }

/** One change of a view. */
export type Change = { readonly path: readonly Segment[] } & (
  | { readonly kind: 'added'; readonly after: Json; readonly index?: number }
  | { readonly kind: 'removed'; readonly before: Json }
  | { readonly kind: 'changed'; readonly before: Json; readonly after: Json }
  /** A text with a replaced part; `removed` is empty if it only grew. */
  | {
      readonly kind: 'text'
      readonly at: number
      readonly removed: string
      readonly inserted: string
      readonly length: number
    }
  /** The kept items of a list have another order. */
  | { readonly kind: 'moved'; readonly order: readonly string[] }
)

export interface Diff {
  readonly changes: readonly Change[]
  /** Whether there are more changes. */
  readonly isTruncated: boolean
}

/** Default maximum number of changes. */
const MAX_CHANGES = 200

/** Longest text, in characters, that is shown before and after if a part of it is replaced: a status, for example. */
const MAX_WHOLE_TEXT = 60

/** Fields that identify the items of each list of a view. */
const ID_FIELDS: { readonly [field: string]: readonly string[] } = {
  messages: ['id'],
  parts: ['key'],
  structured: ['streamId'],
  pendings: ['kind', 'id'],
  interrupts: ['interruptId'],
  runs: ['runId'],
  agents: ['runId', 'agentId'],
  requests: ['runId'],
  hooks: ['runId', 'hookId'],
  drafts: ['runId', 'lane', 'agentId'],
}

/** Fields of a view that are not compared. */
const IGNORED = new Set(['version', 'head'])

type Fields = { readonly [name: string]: Json }

/** Compares two views. */
export function diffOf(before: View, after: View, max: number = MAX_CHANGES): Diff {
  const walk = new DiffWalk(max)
  walk.fields(bodyOf(before), bodyOf(after), [], true)
  return { changes: walk.changes, isTruncated: walk.isFull }
}

function bodyOf(view: View): Fields {
  return Object.fromEntries(Object.entries(view as unknown as Fields).filter(([name]) => !IGNORED.has(name)))
}

class DiffWalk {
  readonly changes: Change[] = []
  readonly #max: number
  isFull = false

  constructor(max: number) {
    this.#max = max
  }

  #add(change: Change): void {
    if (this.changes.length < this.#max) this.changes.push(change)
    else this.isFull = true
  }

  /** `isView` is false inside application data, whose lists have no known ids. */
  #value(before: Json, after: Json, path: readonly Segment[], isView: boolean): void {
    if (before === after || this.isFull) return
    if (typeof before === 'string' && typeof after === 'string') this.#text(before, after, path)
    else if (Array.isArray(before) && Array.isArray(after)) this.#list(before, after, path, isView)
    else if (isFields(before) && isFields(after)) this.fields(before, after, path, isView)
    else this.#add({ path, kind: 'changed', before, after })
  }

  #text(before: string, after: string, path: readonly Segment[]): void {
    const change = textChangeOf(before, after)
    const isWhole = change.removed !== '' && Math.max(before.length, after.length) <= MAX_WHOLE_TEXT
    this.#add(isWhole ? { path, kind: 'changed', before, after } : { path, ...change })
  }

  fields(before: Fields, after: Fields, path: readonly Segment[], isView: boolean): void {
    for (const name of Object.keys(before)) {
      const old = before[name] as Json
      const at = [...path, name]
      if (old === undefined) continue
      if (!has(after, name)) this.#add({ path: at, kind: 'removed', before: old })
      else this.#value(old, after[name] as Json, at, isView && !DATA_FIELDS.has(name))
    }
    for (const name of Object.keys(after)) {
      if (has(after, name) && !has(before, name)) {
        this.#add({ path: [...path, name], kind: 'added', after: after[name] as Json })
      }
    }
  }

  #list(before: readonly Json[], after: readonly Json[], path: readonly Segment[], isView: boolean): void {
    const names = isView ? ID_FIELDS[String(path.at(-1))] : undefined
    const [oldItems, newItems] = names ? [itemsById(before, names), itemsById(after, names)] : []
    if (oldItems && newItems) this.#compareById(oldItems, newItems, path)
    else this.#compareByIndex(before, after, path)
  }

  #compareById(before: ReadonlyMap<string, Json>, after: ReadonlyMap<string, Json>, path: readonly Segment[]): void {
    let isInOrder = true
    const left = before.keys()
    for (const id of after.keys()) {
      if (!before.has(id)) continue
      let next = left.next()
      while (!next.done && !after.has(next.value)) next = left.next()
      if (next.done || next.value !== id) isInOrder = false
    }
    for (const [id, value] of before) {
      if (!after.has(id)) this.#add({ path: [...path, { id }], kind: 'removed', before: value })
    }
    if (!isInOrder) this.#add({ path, kind: 'moved', order: [...after.keys()].filter(id => before.has(id)) })
    let index = 0
    for (const [id, value] of after) {
      const old = before.get(id)
      if (old === undefined) this.#add({ path: [...path, { id }], kind: 'added', after: value, index })
      else this.#value(old, value, [...path, { id }], true)
      index++
    }
  }

  /** Skips the common start and end, and compares the rest by index. */
  #compareByIndex(before: readonly Json[], after: readonly Json[], path: readonly Segment[]): void {
    const shorter = Math.min(before.length, after.length)
    let start = 0
    while (start < shorter && equalJson(before[start] as Json, after[start] as Json)) start++
    let end = 0
    while (end < shorter - start && equalJson(before.at(-1 - end) as Json, after.at(-1 - end) as Json)) end++
    const both = shorter - end
    for (let i = start; i < both; i++) this.#value(before[i] as Json, after[i] as Json, [...path, i], false)
    for (let i = before.length - end - 1; i >= both; i--) {
      this.#add({ path: [...path, i], kind: 'removed', before: before[i] as Json })
    }
    for (let i = both; i < after.length - end; i++) {
      this.#add({ path: [...path, i], kind: 'added', after: after[i] as Json, index: i })
    }
  }
}

/** Fields of a view that hold application data. */
const DATA_FIELDS = new Set([
  'state',
  'output',
  'input',
  'metadata',
  'data',
  'result',
  'response',
  'context',
  'value',
  'meta',
])

const isFields = (value: Json): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Undefined fields count as missing, as in JSON. */
const has = (fields: Fields, name: string): boolean => Object.hasOwn(fields, name) && fields[name] !== undefined

/** Items by id; undefined if the ids are not unique. */
function itemsById(list: readonly Json[], names: readonly string[]): ReadonlyMap<string, Json> | undefined {
  const named = new Map<string, Json>()
  for (const item of list) {
    if (!isFields(item)) return undefined
    named.set(names.map(name => String(item[name])).join(' '), item)
  }
  return named.size === list.length ? named : undefined
}

/** The changed range of a text. */
function textChangeOf(before: string, after: string) {
  const shorter = Math.min(before.length, after.length)
  let at = 0
  if (after.startsWith(before)) at = before.length
  else while (at < shorter && before.charCodeAt(at) === after.charCodeAt(at)) at++
  let end = 0
  while (end < shorter - at && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end))
    end++
  const [removed, inserted] = [before.slice(at, before.length - end), after.slice(at, after.length - end)]
  return { kind: 'text' as const, at, removed, inserted, length: after.length }
}

/** Formats a path: `messages[r1::r1].parts[text:1].text`. */
export function pathText(path: readonly Segment[]): string {
  return path
    .map((segment, i) =>
      typeof segment === 'string'
        ? i
          ? `.${segment}`
          : segment
        : `[${typeof segment === 'number' ? segment : segment.id}]`,
    )
    .join('')
}
