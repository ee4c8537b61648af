import { isContainer, type Json } from '../json/json.ts'
import type { FieldKind, Fields, FieldUpdate } from './field-watcher.ts'
import { StructuredAccumulator } from './structured-accumulator.ts'

/** What a receiver builds from the updates; throws where the reducer refuses one. */
export function fold(updates: readonly FieldUpdate[]): Json | undefined {
  const receiver = new StructuredAccumulator()
  for (const update of updates) {
    receiver.write({ type: 'structured-data', streamId: 's', dataType: 'test', ...structuredClone(update) })
  }
  return receiver.read()?.data
}

/** Every declared field that a value has, by concrete path, found by looking and not by streaming. */
export function declaredIn(value: Json | undefined, fields: Fields): Map<string, Json> {
  const found = new Map<string, Json>()
  const visit = (node: Json | undefined, path: string[], pattern: string[], kind: FieldKind) => {
    const [segment, ...rest] = pattern
    if (segment === undefined) {
      const fits = kind === 'set' || (kind === 'append' ? Array.isArray(node) : typeof node === 'string')
      if (fits && node !== undefined) found.set(path.join('.'), node)
    } else if (isContainer(node)) {
      for (const [key, child] of Object.entries(node)) {
        const canBeNamed = key !== '' && key !== '*' && !key.includes('.')
        if (canBeNamed && (segment === '*' || segment === key)) visit(child, [...path, key], rest, kind)
      }
    }
  }
  for (const [path, kind] of Object.entries(fields)) visit(value, [], path.split('.'), kind)
  return found
}

/** The updates as they are for one push: neighbours of one path joined. */
export function joined(updates: readonly FieldUpdate[]): FieldUpdate[] {
  const list: FieldUpdate[] = []
  for (const update of structuredClone([...updates])) {
    const last = list.at(-1)
    if (last?.path !== update.path || last.kind !== update.kind) list.push(update)
    else if (last.kind === 'append' && update.kind === 'append') last.items.push(...update.items)
    else if (last.kind === 'text-delta' && update.kind === 'text-delta') last.delta += update.delta
    else list.push(update)
  }
  return list
}
