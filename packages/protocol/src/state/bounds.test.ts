import { expect, it } from 'vitest'
import type { Operation } from '../catalogue/chunk.ts'
import { ProtocolError } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { MAX_JSON_DEPTH } from '../json/json-parser.ts'
import { applyPatch, MAX_COPIED } from './apply-patch.ts'

const apply = (document: Json | undefined, ...operations: unknown[]) => applyPatch(document, operations as Operation[])
const add = (path: string, value: Json) => ({ op: 'add', path, value })
const remove = (path: string) => ({ op: 'remove', path })
const move = (from: string, path: string) => ({ op: 'move', from, path })
const copy = (from: string, path: string) => ({ op: 'copy', from, path })
const test = (path: string, value: Json) => ({ op: 'test', path, value })

it('limits the depth of compared and copied values', () => {
  const nested = (depth: number, inner: Json): Json => (depth ? nested(depth - 1, [inner]) : inner)
  const [deep, deeper] = [nested(MAX_JSON_DEPTH, 1), nested(MAX_JSON_DEPTH + 1, 1)]
  expect(apply({}, add('/a', deep), test('/a', deep), copy('/a', '/b'))).toEqual({ a: deep, b: deep })
  expect(() => apply({}, add('/a', deeper), test('/a', deeper))).toThrow(/^operation 1 .+ found \[{40}$/)
  expect(() => apply({}, add('/a', deeper), copy('/a', '/b'))).toThrow(
    /^operation 1 .+ at most 512 levels, found more$/,
  )
  let abyss: Json = 1
  for (let i = 0; i < 20_000; i++) abyss = [abyss]
  expect(() => apply({}, add('/a', abyss), test('/a', abyss))).toThrow(ProtocolError)
  expect(() => apply({}, add('/a', abyss), copy('/a', '/b'))).toThrow(ProtocolError)
  expect(() => apply({}, add('/a', abyss), test('/a', 1))).toThrow(/^operation 1 .+ found \[{40}$/)
})

it('limits the total of copied values, keys and strings', () => {
  const doublings = Array.from({ length: 25 }, (_, i) => copy('', `/k${i}`))
  expect(() => apply({}, ...doublings, test('', 1))).toThrow(/^operation (19|20) .+ at most 4194304 characters in all/)
  const text = 'x'.repeat(MAX_COPIED / 2)
  for (const document of [[text], { [text]: 1 }, { a: { [text]: {} } }]) {
    const once = apply([document], copy('/0', '/-')) as Json[]
    expect(once).toHaveLength(2)
    expect(() => apply(once, copy('/0', '/-'), copy('/1', '/-'))).toThrow(/^operation 1 /)
  }
})

it('shortens long names in errors', () => {
  const pointer = `/${'x'.repeat(1_000_000)}`
  for (const operation of [
    remove(pointer),
    add(`${pointer}/a`, 1),
    move(pointer, pointer),
    { op: pointer, path: '' },
  ]) {
    expect(() => apply({}, operation)).toThrow(/^operation 0 .{50,300}$/)
  }
  expect(() => apply([], add(pointer, 1))).toThrow(/^operation 0 .{50,300}$/)
})
