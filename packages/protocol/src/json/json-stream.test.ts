import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../property-runs.fixture.ts'
import { accepted, rejected } from './cases.fixture.ts'
import { isContainer, type Json, type JsonContainer } from './json.ts'
import { MAX_JSON_DEPTH } from './json-parser.ts'
import { feed, replay, strict } from './json-replay.fixture.ts'
import { JsonStream } from './json-stream.ts'
import { containers, grows } from './partial.fixture.ts'
import { corruptedText, cutLengths, jsonText, splitAt, trickyKeys } from './text.fixture.ts'

const anyText = jsonText(trickyKeys)
const corrupted = corruptedText(anyText)
const units = (text: string) => text.split('')

function parsed(text: string): { value: Json } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const hasRepeats = (text: string) =>
  replay([text]).reports.some(([kind, , , repeated]) => kind === 'complete' && repeated === 'true')

describe('any split', () => {
  test('invariants 4, 5: equals JSON.parse', () => {
    fc.assert(
      fc.property(anyText, cutLengths, (text, lengths) => {
        const stream = feed(splitAt(text, lengths))
        expect(stream.error).toBeUndefined()
        expect(stream.status).toBe('done')
        expect(JSON.stringify(stream.value)).toBe(JSON.stringify(JSON.parse(text)))
        expect(isDeepStrictEqual(stream.value, JSON.parse(text))).toBe(true)
      }),
      { numRuns: runs(500) },
    )
  })

  test('invariants 4, 5: equals JSON.parse for every pair of split positions in a text with all syntax', () => {
    const text = `\n{"a":[1,-0.5e+3,true , null,[],{}],"__proto__":{"":"\\u00e9\\ud83d\\ude00😀\\"\\ud83d"},"a":"b"}\t`
    const unsplit = replay([text])
    expect(unsplit.value).toBe(JSON.stringify(JSON.parse(text)))
    for (let i = 0; i <= text.length; i++) {
      for (let j = i; j <= text.length; j++) {
        expect(isDeepStrictEqual(replay([text.slice(0, i), text.slice(i, j), text.slice(j)]), unsplit)).toBe(true)
      }
    }
  })

  test('invariant 4: reports the same for valid and invalid texts, in both modes', () => {
    fc.assert(
      fc.property(corrupted, cutLengths, fc.boolean(), (text, lengths, strict) => {
        expect(replay(splitAt(text, lengths), { strict })).toEqual(replay([text], { strict }))
      }),
      { numRuns: runs(400) },
    )
  })
})

describe('accepted texts', () => {
  test('invariant 5: are exactly those that JSON.parse accepts', () => {
    const seen = { done: 0, failed: 0 }
    fc.assert(
      fc.property(corrupted, cutLengths, (text, lengths) => {
        const stream = feed(splitAt(text, lengths))
        const expected = parsed(text)
        const status = expected ? 'done' : 'failed'
        seen[status]++
        expect(stream.status).toBe(status)
        expect(stream.error?.code).toBe(expected ? undefined : 'invalid-json')
        if (expected) expect(isDeepStrictEqual(stream.value, expected.value)).toBe(true)
      }),
      { numRuns: runs(900) },
    )
    expect(Math.min(seen.done, seen.failed)).toBeGreaterThan(100)
  })

  test.each(accepted)('accepts %j', text => {
    const expected = parsed(text)
    expect(expected).toBeDefined()
    for (const pieces of [[text], units(text)]) {
      const stream = feed(pieces)
      expect(stream.error).toBeUndefined()
      expect(isDeepStrictEqual(stream.value, expected?.value)).toBe(true)
      expect(JSON.stringify(stream.value)).toBe(JSON.stringify(expected?.value))
    }
  })

  test.each(rejected)('rejects %j', text => {
    expect(parsed(text)).toBeUndefined()
    for (const pieces of [[text], units(text)]) {
      const stream = feed(pieces)
      expect(stream.status).toBe('failed')
      expect(stream.error?.message).toMatch(/^offset \d+: expected .+, found .+$/)
    }
  })

  test('the error names the offset, what was expected and what was found', () => {
    const message = (text: string) => feed([text]).error?.message
    expect(message('[,1]')).toBe('offset 1: expected a value, found ","')
    expect(message('{"a" 1}')).toBe('offset 5: expected ":", found "1"')
    expect(message('[1, undefined]')).toBe('offset 4: expected a value, found "undefined"')
    expect(message('["ab')).toBe('offset 4: expected more of a string, found the end')
    expect(message('["\\x"]')).toBe('offset 3: expected an escape, found "x"')
    expect(message('{} {}')).toBe('offset 3: expected the end, found "{"')
    expect(feed(['no document'], {}).error?.message).toBe('offset 11: expected "{" or "[", found the end')
  })

  test('a document nested deeper than the limit fails with a typed error', () => {
    const nested = (depth: number, inner = '1') => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`
    expect(feed([nested(MAX_JSON_DEPTH, '"x"')]).status).toBe('done')
    expect(JSON.stringify(feed([nested(MAX_JSON_DEPTH)]).value)).toBe(nested(MAX_JSON_DEPTH))
    const deeper = feed([nested(MAX_JSON_DEPTH + 1)])
    expect(deeper.error?.code).toBe('too-large')
    expect(deeper.error?.message).toBe('offset 512: expected at most 512 levels, found "["')
    expect(feed(['{"a":'.repeat(100_000)]).error?.code).toBe('too-large')
  })
})

describe('the partial value', () => {
  test('invariants 2, 3, 6: only grows, by complete characters and complete scalars', () => {
    fc.assert(
      fc.property(anyText, text => {
        fc.pre(!hasRepeats(text))
        const stream = new JsonStream(strict)
        const end = JSON.parse(text)
        let before: Json | undefined
        for (const unit of units(text)) {
          stream.push(unit)
          expect(grows(before, stream.value, end)).toBe(true)
          before = structuredClone(stream.value)
        }
      }),
      { numRuns: runs(400) },
    )
  })

  test('invariant 1: a value that was reported complete never changes or moves', () => {
    fc.assert(
      fc.property(anyText, cutLengths, (text, lengths) => {
        const complete = new Map<string, { value: Json; was: string }>()
        const stream = new JsonStream({
          strict: true,
          onComplete: (value, path) => complete.set(JSON.stringify(path), { value, was: JSON.stringify(value) ?? '' }),
        })
        const repeats = hasRepeats(text)
        for (const piece of splitAt(text, lengths)) {
          stream.push(piece)
          for (const [path, { value, was }] of complete) {
            expect(JSON.stringify(value)).toBe(was)
            if (repeats) continue
            const inPlace = JSON.parse(path).reduce(
              (node: JsonContainer, key: string) => Object.getOwnPropertyDescriptor(node, key)?.value,
              stream.value,
            )
            expect(Object.is(inPlace, value)).toBe(true)
          }
        }
      }),
      { numRuns: runs(300) },
    )
  })

  test('invariants 1, 8: a repeated key keeps its old value until the new one is complete', () => {
    const duplicates = '"a":{"b":["longer",2],"a":1,"a":{"z":[{"y":1}]}}'
    const text = `{"a":{"b":["x"]},"c":1,${duplicates},"c":"text","d":{"e":[{"f":"g"}]}}`
    const [first, second] = [{ b: ['x'] }, { b: ['longer', 2], a: { z: [{ y: 1 }] } }]
    const stream = new JsonStream(strict)
    const seen: unknown[] = []
    const kept: [Json | undefined, string][] = []
    for (const [i, unit] of units(text).entries()) {
      const before = stream.snapshot()
      stream.push(unit)
      const { a, c } = structuredClone(stream.value ?? {}) as { a?: Json; c?: Json }
      if (c !== undefined && !isDeepStrictEqual(seen.at(-1), [a, c])) seen.push([a, c])
      expect(stream.snapshot()).toEqual(stream.value)
      kept.push([stream.snapshot(), JSON.stringify(stream.value)])
      const start = text.indexOf(duplicates)
      if (i > start && i < start + duplicates.length - 1) expect(stream.snapshot()).toBe(before)
    }
    expect(seen).toEqual([
      [first, 1],
      [second, 1],
      [second, 'text'],
    ])
    for (const [snapshot, was] of kept) expect(JSON.stringify(snapshot)).toBe(was)
    expect(JSON.stringify(stream.value)).toBe(JSON.stringify(JSON.parse(text)))
  })

  test('invariant 3: never shows half an escape or half a surrogate pair; shows a lone surrogate at the end', () => {
    const partialValues = (text: string) => {
      const stream = new JsonStream(strict)
      return units(text).map(unit => {
        stream.push(unit)
        return stream.value
      })
    }
    expect(partialValues('"a\\n\\u00e9"').at(-1)).toBe('a\né')
    expect(new Set(partialValues('"a\\n\\u00e9"'))).toEqual(new Set(['', 'a', 'a\n', 'a\né']))
    expect(new Set(partialValues('"a\\ud83d\\ude00b"'))).toEqual(new Set(['', 'a', 'a😀', 'a😀b']))
    expect(new Set(partialValues('"a😀b"'))).toEqual(new Set(['', 'a', 'a😀', 'a😀b']))
    expect(new Set(partialValues('"\ud83dx\\ud83d"'))).toEqual(new Set(['', '\ud83dx', '\ud83dx\ud83d']))
    expect(new Set(partialValues('"\\ud83d\\ud83d\ude00"'))).toEqual(new Set(['', '\ud83d', '\ud83d😀']))
  })

  test('invariant 6: a key appears with the start of its value, a scalar when it is complete', () => {
    const partialValues = (text: string) => {
      const stream = new JsonStream(strict)
      stream.push(text)
      return JSON.stringify(stream.value)
    }
    expect(['{"a', '{"a"', '{"a":', '{"a": '].map(partialValues)).toEqual(['{}', '{}', '{}', '{}'])
    expect(['{"a":"', '{"a":{', '{"a":['].map(partialValues)).toEqual(['{"a":""}', '{"a":{}}', '{"a":[]}'])
    expect(['[12', '[12,', '[tru', '[true]'].map(partialValues)).toEqual(['[]', '[12]', '[]', '[true]'])
    expect(feed(['12']).value).toBe(12)
    // A truncated text may have lost digits.
    expect(feed(['[1, 12']).value).toEqual([1])
  })

  test('invariant 7: keeps the value after a failure and ignores further text', () => {
    const reports: Json[] = []
    const stream = new JsonStream({ onComplete: value => void reports.push(value) })
    stream.push('{"a":[1,2,"te\\n')
    stream.push('xt\u0001 more"]} {"b":1}')
    const { error } = stream
    expect(stream.status).toBe('failed')
    expect(stream.value).toEqual({ a: [1, 2, 'te\nxt'] })
    stream.push('"],"b":3}')
    expect(stream.end()).toBe(false)
    expect(stream.value).toEqual({ a: [1, 2, 'te\nxt'] })
    expect(stream.snapshot()).toEqual({ a: [1, 2, 'te\nxt'] })
    expect(stream.error).toBe(error)
    expect(reports).toEqual([1, 2])
  })

  // Parsing the text again for each delta would take hours at this size, far longer than a test may run.
  test('invariant 9: reads 4 MB in deltas of 4 characters in linear time', () => {
    const text = JSON.stringify({ text: 'lorem ipsum "dolor"\n'.repeat(100_000), list: [...Array(240_000).keys()] })
    let grown = 0
    const stream = new JsonStream({
      onGrow: delta => {
        grown += delta.length
      },
    })
    for (let i = 0; i < text.length; i += 4) {
      stream.push(text.slice(i, i + 4))
      if (!isContainer(stream.value)) throw new Error(`expected a partial value, found ${stream.value}`)
    }
    expect(stream.end()).toBe(true)
    expect(grown).toBe(100_000 * 20)
    expect(isDeepStrictEqual(stream.value, JSON.parse(text))).toBe(true)
  })
})

describe('snapshots', () => {
  test('invariant 8: never change, equal the value at that time, and share complete values', () => {
    fc.assert(
      fc.property(anyText, cutLengths, fc.boolean(), (text, lengths, inHandlers) => {
        const repeats = hasRepeats(text)
        const complete = new Set<Json>()
        const kept: [Json | undefined, string | undefined][] = []
        const keep = () => {
          const snapshot = stream.snapshot()
          const now = JSON.stringify(snapshot)
          const [before, was] = kept.at(-1) ?? []
          expect(isDeepStrictEqual(snapshot, stream.value)).toBe(true)
          if (now === was && !repeats) expect(snapshot).toBe(before)
          // Only the open containers are copied, each nested in the one before.
          const copies = [...containers(snapshot)].filter(one => !complete.has(one))
          for (const [i, copy] of copies.slice(1).entries()) expect(Object.values(copies[i] ?? {})).toContain(copy)
          kept.push([snapshot, now])
        }
        const stream = new JsonStream({
          strict: true,
          onComplete(value) {
            for (const one of containers(value)) complete.add(one)
            if (inHandlers) keep()
          },
          ...(inHandlers && { onGrow: keep }),
        })
        for (const piece of splitAt(text, lengths)) {
          stream.push(piece)
          keep()
        }
        for (const [snapshot, was] of kept) expect(JSON.stringify(snapshot)).toBe(was)
      }),
      { numRuns: runs(500) },
    )
  })

  test('invariant 8: do not change with the live value', () => {
    const stream = new JsonStream()
    stream.push('{"a":{"b":[1,"te')
    const held = stream.snapshot()
    stream.push('xt"],"c":2},"a":{}}')
    expect(held).toEqual({ a: { b: [1, 'te'] } })
    expect(stream.snapshot()).toEqual({ a: {} })
    const duplicates = new JsonStream()
    duplicates.push('{"a":{"b":1},"a":{"c":[2,')
    expect(duplicates.snapshot()).toEqual({ a: { b: 1 } })
    expect(stream.snapshot()).toBe(stream.snapshot())
  })
})

describe('reports', () => {
  test('come in document order, with paths', () => {
    const { reports } = replay(['{"a":[1,{"b":"x', 'y"}],"":null}'])
    expect(reports).toEqual([
      ['complete', 'a,0', '1', 'false'],
      ['grow', 'a,1,b', 'xy'],
      ['complete', 'a,1,b', '"xy"', 'false'],
      ['complete', 'a,1', '{"b":"xy"}', 'false'],
      ['complete', 'a', '[1,{"b":"xy"}]', 'false'],
      ['complete', '', 'null', 'false'],
      ['complete', '', '{"a":[1,{"b":"xy"}],"":null}', 'false'],
    ])
  })

  test('the value of a repeated key is reported when it is complete', () => {
    const { reports } = replay(['{"a":{"b":"x"},"a":{"b":"y","c":[1]},"d":2}'])
    expect(reports).toEqual([
      ['grow', 'a,b', 'x'],
      ['complete', 'a,b', '"x"', 'false'],
      ['complete', 'a', '{"b":"x"}', 'false'],
      ['complete', 'a', '{"b":"y","c":[1]}', 'true'],
      ['complete', 'd', '2', 'false'],
      ['complete', '', '{"a":{"b":"y","c":[1]},"d":2}', 'false'],
    ])
  })

  test('growth is reported once per push and string, regardless of escapes', () => {
    const deltas: string[] = []
    const stream = new JsonStream({ onGrow: delta => void deltas.push(delta) })
    stream.push('["a\\n\\u0062c","d')
    stream.push('\\"e"')
    expect(deltas).toEqual(['a\nbc', 'd', '"e'])
  })
})
