import { isContainer, type Json } from '../json/json.ts'
import type { FieldKind, Fields, FieldUpdate } from './field-watcher.ts'
import { StructuredAccumulator } from './structured-accumulator.ts'

/** The data that a receiver builds from the updates. Throws if the reducer rejects one. */
export function fold(updates: readonly FieldUpdate[]): Json | undefined {
  const receiver = new StructuredAccumulator()
  for (const update of updates) {
    receiver.write({ type: 'structured-data', streamId: 's', dataType: 'test', ...structuredClone(update) })
  }
  return receiver.read()?.data
}

/** Every declared field of a value, by concrete path, found without streaming. */
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

/** The updates as if from one push: adjacent updates of one path are joined. */
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
