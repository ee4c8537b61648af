import { mismatch } from '../error/protocol-error.ts'
import { childOf, isIndex, kindOf, setChild, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonObject } from '../json/json.ts'
import { MAX_GAP } from './path.ts'
import type { StatePath, UndoJournal } from './undo-journal.ts'

/** Arguments of a write beside its path in `data`. */
export interface DataWrite {
  /** The number of segments up to the item on the path that no write has set, or 0. */
  readonly unset: number
  /** Gets the items that the write adds to arrays before those on its path, and the number of segments up to each array. */
  readonly gaps: (readonly [depth: number, from: number, to: number])[]
  /** Whether the receiver can find a key in an object. */
  readonly isKey: ((key: string) => boolean) | undefined
}

const nameOf = (path: StatePath) => ['state', ...path].join('.')

export const conflict = (path: StatePath, depth: number, expected: string, found: unknown) =>
  mismatch('path-conflict', nameOf(path), `${expected} at ${nameOf(path.slice(0, depth))}`, found)

/**
 * Returns a value after an update of the one at a path below it. `root` is at the first `start` segments of the path. Copies the
 * containers on the path, or mutates those that the journal owns. Throws before it changes anything.
 */
export function changeAt(
  root: Json | undefined,
  start: number,
  path: StatePath,
  journal: UndoJournal | undefined,
  update: (old: Json | undefined) => Json | undefined,
  write?: DataWrite,
): Json | undefined {
  const visit = (node: Json | undefined, depth: number, gap: number): Json | undefined => {
    if (depth === path.length) return update(node)
    const segment = path[depth] as string
    const parent = node === undefined ? (write && isIndex(segment) ? [] : {}) : node
    const isArray = Array.isArray(parent)
    if (!isContainer(parent) || (isArray ? !isIndex(segment) : write?.isKey?.(segment) === false)) {
      throw conflict(path, depth, isIndex(segment) ? 'array or object' : 'object', kindOf(parent))
    }
    const filled = isArray ? gap + Math.max(0, Number(segment) - parent.length) : gap
    if (filled > MAX_GAP) throw conflict(path, depth, `at most ${MAX_GAP} empty items`, filled)
    const isUnset = depth + 1 === write?.unset
    const child = isUnset ? undefined : childOf(parent, segment)
    const next = visit(child, depth + 1, filled)
    if (Object.is(next, child)) return node
    if (child === undefined && node !== undefined) {
      if (isArray && !isUnset) journal?.record(path.slice(0, depth), { length: parent.length })
      else journal?.record(path.slice(0, depth + 1), isUnset ? { old: null } : {})
    }
    if (filled > gap) write?.gaps.push([depth, (parent as Json[]).length, Number(segment)])
    const target = writable(parent, journal?.owned)
    if (next === undefined) delete (target as JsonObject)[segment]
    else setChild(target, segment, next)
    return target
  }
  return visit(root, start, 0)
}
