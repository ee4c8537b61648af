// What became of a view: small where little changed, by identity where that will do.

import type { Json, View } from '@millrace/protocol'

/** A step of a path: a field, a place in a list, or the one of a list that is known by a name. */
export type Segment = string | number | { readonly id: string }

/** Something that became otherwise. */
export type Change = { readonly path: readonly Segment[] } & (
  | { readonly kind: 'added'; readonly after: Json; readonly index?: number }
  | { readonly kind: 'removed'; readonly before: Json }
  | { readonly kind: 'changed'; readonly before: Json; readonly after: Json }
  /** A text of which a piece became another; where it grew, nothing is taken. */
  | {
      readonly kind: 'text'
      readonly at: number
      readonly taken: string
      readonly given: string
      readonly length: number
    }
  /** Those of a list that were there stand in another order. */
  | { readonly kind: 'moved'; readonly order: readonly string[] }
)

export interface Diff {
  readonly changes: readonly Change[]
  /** Whether there are more than these. */
  readonly isCut: boolean
}

/** No more than these are looked for. */
const MOST = 200

/** By what the items of a list of the view are known. */
const NAMES: { readonly [field: string]: readonly string[] } = {
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

/** Fields of a view that say how it was made, and not what it says. */
const MADE = new Set(['version', 'head'])

type Fields = { readonly [name: string]: Json }

/** What an entry, or several, made of a view. */
export function diffOf(before: View, after: View, most: number = MOST): Diff {
  const walk = new Walk(most)
  walk.fields(bodyOf(before), bodyOf(after), [], true)
  return { changes: walk.changes, isCut: walk.isFull }
}

function bodyOf(view: View): Fields {
  return Object.fromEntries(Object.entries(view as unknown as Fields).filter(([name]) => !MADE.has(name)))
}

class Walk {
  readonly changes: Change[] = []
  readonly #most: number
  isFull = false

  constructor(most: number) {
    this.#most = most
  }

  #note(change: Change): void {
    if (this.changes.length < this.#most) this.changes.push(change)
    else this.isFull = true
  }

  /** `isView` says whether it is of a view's own shape, whose lists have names, and not somebody's data. */
  #value(before: Json, after: Json, path: readonly Segment[], isView: boolean): void {
    if (before === after || this.isFull) return
    if (typeof before === 'string' && typeof after === 'string') this.#note({ path, ...textOf(before, after) })
    else if (Array.isArray(before) && Array.isArray(after)) this.#list(before, after, path, isView)
    else if (isFields(before) && isFields(after)) this.fields(before, after, path, isView)
    else this.#note({ path, kind: 'changed', before, after })
  }

  fields(before: Fields, after: Fields, path: readonly Segment[], isView: boolean): void {
    for (const name of Object.keys(before)) {
      const old = before[name] as Json
      const at = [...path, name]
      if (old === undefined) continue
      if (!has(after, name)) this.#note({ path: at, kind: 'removed', before: old })
      else this.#value(old, after[name] as Json, at, isView && !DATA.has(name))
    }
    for (const name of Object.keys(after)) {
      if (has(after, name) && !has(before, name)) {
        this.#note({ path: [...path, name], kind: 'added', after: after[name] as Json })
      }
    }
  }

  #list(before: readonly Json[], after: readonly Json[], path: readonly Segment[], isView: boolean): void {
    const names = isView ? NAMES[String(path.at(-1))] : undefined
    const [old, fresh] = names ? [namedOf(before, names), namedOf(after, names)] : []
    if (old && fresh) this.#named(old, fresh, path)
    else this.#places(before, after, path)
  }

  #named(before: ReadonlyMap<string, Json>, after: ReadonlyMap<string, Json>, path: readonly Segment[]): void {
    let isInOrder = true
    const left = before.keys()
    for (const id of after.keys()) {
      if (!before.has(id)) continue
      let next = left.next()
      while (!next.done && !after.has(next.value)) next = left.next()
      if (next.done || next.value !== id) isInOrder = false
    }
    for (const [id, value] of before) {
      if (!after.has(id)) this.#note({ path: [...path, { id }], kind: 'removed', before: value })
    }
    if (!isInOrder) this.#note({ path, kind: 'moved', order: [...after.keys()].filter(id => before.has(id)) })
    let index = 0
    for (const [id, value] of after) {
      const old = before.get(id)
      if (old === undefined) this.#note({ path: [...path, { id }], kind: 'added', after: value, index })
      else this.#value(old, value, [...path, { id }], true)
      index++
    }
  }

  /** What is the same at the beginning and at the end stays; what is between is compared place by place. */
  #places(before: readonly Json[], after: readonly Json[], path: readonly Segment[]): void {
    const shorter = Math.min(before.length, after.length)
    let start = 0
    while (start < shorter && isSame(before[start] as Json, after[start] as Json)) start++
    let end = 0
    while (end < shorter - start && isSame(before.at(-1 - end) as Json, after.at(-1 - end) as Json)) end++
    const both = shorter - end
    for (let i = start; i < both; i++) this.#value(before[i] as Json, after[i] as Json, [...path, i], false)
    for (let i = before.length - end - 1; i >= both; i--) {
      this.#note({ path: [...path, i], kind: 'removed', before: before[i] as Json })
    }
    for (let i = both; i < after.length - end; i++) {
      this.#note({ path: [...path, i], kind: 'added', after: after[i] as Json, index: i })
    }
  }
}

/** Fields of a view that hold what others put there. */
const DATA = new Set(['state', 'output', 'input', 'metadata', 'data', 'result', 'response', 'context', 'value', 'meta'])

const isFields = (value: Json): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is there and undefined is not there, as JSON has it. */
const has = (fields: Fields, name: string): boolean => Object.hasOwn(fields, name) && fields[name] !== undefined

/** A list by the names of its items; nothing where they do not tell them apart. */
function namedOf(list: readonly Json[], names: readonly string[]): ReadonlyMap<string, Json> | undefined {
  const named = new Map<string, Json>()
  for (const item of list) {
    if (!isFields(item)) return undefined
    named.set(names.map(name => String(item[name])).join(' '), item)
  }
  return named.size === list.length ? named : undefined
}

/** Where two texts differ. */
function textOf(before: string, after: string) {
  const shorter = Math.min(before.length, after.length)
  let at = 0
  if (after.startsWith(before)) at = before.length
  else while (at < shorter && before.charCodeAt(at) === after.charCodeAt(at)) at++
  let end = 0
  while (end < shorter - at && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end))
    end++
  const [taken, given] = [before.slice(at, before.length - end), after.slice(at, after.length - end)]
  return { kind: 'text' as const, at, taken, given, length: after.length }
}

/** Whether two values say the same. */
function isSame(a: Json, b: Json): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => isSame(item, b[i] as Json))
  }
  if (!isFields(a) || !isFields(b)) return false
  const names = Object.keys(a).filter(name => has(a, name))
  return (
    names.length === Object.keys(b).filter(name => has(b, name)).length &&
    names.every(name => has(b, name) && isSame(a[name] as Json, b[name] as Json))
  )
}

/** A path as people read it: `messages[r1::r1].parts[text:1].text`. */
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
