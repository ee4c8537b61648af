import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { catalogue } from './catalogue.ts'
import * as guards from './guards.ts'

const types = Object.keys(catalogue)
const pascal = (type: string): string => type.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())
const source = readFileSync(new URL('./guards.ts', import.meta.url), 'utf8')
const all = guards as unknown as Record<string, (chunk: { type: string }) => boolean>

describe('guards', () => {
  it('exist exactly once for each type', () => {
    expect(Object.keys(guards).sort()).toEqual([...types.map(type => `is${pascal(type)}`), 'isData'].sort())
  })

  it('have one exported type each', () => {
    const declared = [...source.matchAll(/^export type (\w+) = ChunkOf<'([\w-]+)'>$/gm)].map(([, name, type]) => [
      name,
      type,
    ])
    expect(declared).toEqual(types.map(type => [`${pascal(type)}Chunk`, type]))
  })

  it.each(types)('accept their type and no other: %s', type => {
    const guard = all[`is${pascal(type)}`]
    const others = [...types, 'data-x', 'glow', '', `${type}-`, type.toUpperCase(), 'toString']
    expect(others.filter(other => guard?.({ type: other }))).toEqual([type])
  })

  it('recognize data by its prefix', () => {
    const named = ['data-weather', 'data-', 'data--', 'data-text-delta']
    expect(named.every(type => guards.isData({ type }))).toBe(true)
    expect([...types, 'data', 'DATA-x', 'xdata-', ''].some(type => guards.isData({ type }))).toBe(false)
  })
})
