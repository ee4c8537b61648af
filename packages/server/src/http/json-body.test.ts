import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonBody } from './json-body.ts'

const textOf = async (value: unknown) => Buffer.from(await jsonBody(value, () => {})).toString()

test('writes what JSON.stringify writes', async () => {
  const leaf = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(undefined, Number.NaN, -0, new Date(0)),
    fc.string({ unit: 'binary' }),
  )
  const value = fc.object({ maxDepth: 7, values: [leaf] })
  await fc.assert(
    fc.asyncProperty(fc.oneof(value, fc.array(value), fc.array(leaf)), async each => {
      expect(await textOf(each)).toBe(Buffer.from(JSON.stringify(each)).toString())
    }),
  )
  for (const each of [[undefined], { a: undefined }, { f: () => 1, s: Symbol('s') }, [() => 1], null, 'é', []])
    expect(await textOf(each)).toBe(JSON.stringify(each))
})

const large = { messages: Array.from({ length: 200 }, () => ({ parts: [{ text: 'é'.repeat(50_000) }] })) }

test('counts each piece before it writes the next', async () => {
  const counted: number[] = []
  const body = await jsonBody(large, bytes => counted.push(bytes))
  expect(counted.reduce((sum, bytes) => sum + bytes, 0)).toBe(body.byteLength)
  expect(Math.max(...counted)).toBeLessThan(400_000)
  let sum = 0
  const refuse = (bytes: number) => {
    sum += bytes
    if (sum > 1_000_000) throw new Error('enough')
  }
  await expect(jsonBody(large, refuse)).rejects.toThrow('enough')
  expect(sum).toBeLessThan(1_500_000)
})

test('lets other work run between pieces', async () => {
  let turns = 0
  let isDone = false
  const next = () => {
    turns++
    if (!isDone) setImmediate(next)
  }
  setImmediate(next)
  await jsonBody(large, () => {})
  isDone = true
  expect(turns).toBeGreaterThan(5)
})
