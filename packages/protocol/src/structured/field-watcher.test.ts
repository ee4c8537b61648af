import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ProtocolError } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { cutLengths, jsonText, splitAt } from '../json/text.fixture.ts'
import { runs } from '../property-runs.fixture.ts'
import { declaredIn, fold, joined } from './field-updates.fixture.ts'
import { type FieldKind, type Fields, FieldWatcher } from './field-watcher.ts'
import { MAX_GAP } from './path.ts'
import { StructuredAccumulator } from './structured-accumulator.ts'

const units = (text: string) => text.split('')

function watch(fields: Fields, pieces: Iterable<string>) {
  const watcher = new FieldWatcher(fields)
  const pushes = Array.from(pieces, piece => watcher.push(piece))
  watcher.end()
  return { watcher, pushes, updates: pushes.flat(), warnings: watcher.warnings.map(({ message }) => message) }
}

// Few keys, so that declarations match documents and keys repeat.
const keys = ['a', 'a', 'b', '0', '7', '__proto__']
const segment = fc.constantFrom('*', '*', '*', ...keys)
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map(segments => segments.join('.'))
const kind = fc.constantFrom<FieldKind>('set', 'append', 'text-delta')
/** Valid declarations. */
const fields = fc.array(fc.tuple(path, kind), { minLength: 1, maxLength: 5 }).map(entries => {
  let fields: Fields = {}
  for (const [path, kind] of entries) {
    const more = { ...fields, [path]: kind }
    try {
      new FieldWatcher(more)
      fields = more
    } catch {}
  }
  return fields
})
const text = jsonText(fc.constantFrom(...keys, ...keys, '', 'x.y')).filter(text => /^\s*[[{]/.test(text))

describe('updates', () => {
  const email = { subject: 'set', body: 'text-delta', bullets: 'append' } as const

  test('a draft: one field grows as text, one as an array, one is set when complete', () => {
    const { pushes } = watch(email, [
      '{"subject":"Hi',
      '","body":"Dear ',
      'all,\\nhow',
      ' are you?","bullets":["a","b",',
      '"c"]}',
    ])
    expect(pushes).toEqual([
      [],
      [
        { kind: 'set', path: 'subject', value: 'Hi' },
        { kind: 'text-delta', path: 'body', delta: 'Dear ' },
      ],
      [{ kind: 'text-delta', path: 'body', delta: 'all,\nhow' }],
      [
        { kind: 'text-delta', path: 'body', delta: ' are you?' },
        { kind: 'append', path: 'bullets', items: ['a', 'b'] },
      ],
      [{ kind: 'append', path: 'bullets', items: ['c'] }],
    ])
  })

  test('are in the order of the document, not of the kinds or the declaration', () => {
    const document = '{"bullets":[1,{"x":[2]}],"body":"text","subject":null,"other":[1]}'
    expect(watch(email, [document]).updates).toEqual([
      { kind: 'append', path: 'bullets', items: [1, { x: [2] }] },
      { kind: 'text-delta', path: 'body', delta: 'text' },
      { kind: 'set', path: 'subject', value: null },
    ])
  })

  test('a set value of any type is sent once, when complete', () => {
    const { pushes } = watch({ a: 'set', b: 'set', c: 'set' }, [
      '{"a":{"x":',
      '[1]}',
      ',"b":12',
      '3',
      ',"c":tru',
      'e',
      '}',
    ])
    expect(pushes.map(updates => updates.map(update => 'value' in update && update.value))).toEqual([
      [],
      [{ x: [1] }],
      [],
      [],
      [123],
      [],
      [true],
    ])
  })

  test('numeric segments and `*` address items and keys, with concrete paths', () => {
    const document = JSON.stringify({
      sections: [{ body: 'zero' }, { body: 'one' }],
      points: { risk: { label: 'r' }, cost: { label: 'c' }, not: 1 },
    })
    const fields: Fields = { 'sections.1.body': 'text-delta', 'points.*.label': 'set' }
    const { updates } = watch(fields, [document])
    expect(updates).toEqual([
      { kind: 'text-delta', path: 'sections.1.body', delta: 'one' },
      { kind: 'set', path: 'points.risk.label', value: 'r' },
      { kind: 'set', path: 'points.cost.label', value: 'c' },
    ])
    expect(fold(updates)).toEqual({
      sections: [null, { body: 'one' }],
      points: { risk: { label: 'r' }, cost: { label: 'c' } },
    })
  })

  test('`*` works at the root, for an object and for an array', () => {
    expect(watch({ '*': 'text-delta' }, ['{"a":"x","b":"y"}']).updates.map(({ path }) => path)).toEqual(['a', 'b'])
    expect(watch({ '*.t': 'set' }, ['[{"t":1},{"t":2}]']).updates.map(({ path }) => path)).toEqual(['0.t', '1.t'])
  })

  test('a key with its own fields also matches `*`', () => {
    const fields: Fields = { 'a.x': 'set', '*.y': 'text-delta' }
    const { updates } = watch(fields, ['{"a":{"x":1,"y":"ay"},"b":{"x":2,"y":"by"}}'])
    expect(updates.map(({ path }) => path)).toEqual(['a.x', 'a.y', 'b.y'])
  })

  test('empty strings and arrays are sent', () => {
    const { updates } = watch({ t: 'text-delta', l: 'append' }, ['{"t":"","l":[]}'])
    expect(updates).toEqual([
      { kind: 'set', path: 't', value: '' },
      { kind: 'set', path: 'l', value: [] },
    ])
  })

  test('text never splits an escape or a surrogate pair', () => {
    const { updates } = watch({ t: 'text-delta' }, units('{"t":"a\\n\\ud83d\\ude00\\u00e9😀"}'))
    expect(updates.map(update => update.kind === 'text-delta' && update.delta)).toEqual(['a', '\n', '😀', 'é', '😀'])
  })
})

describe('declared fields', () => {
  const refusal = (fields: Record<string, string>) => {
    try {
      new FieldWatcher(fields as Fields)
    } catch (error) {
      return [(error as ProtocolError).code, (error as ProtocolError).message]
    }
    return undefined
  }

  test.each(['', '.', 'a.', '.a', 'a..b', 'a*', '**', 'a.*b', '*.**', 'a.b*.c', `a${'.a'.repeat(64)}`])(
    '%j is refused',
    path => {
      expect(refusal({ [path]: 'set' })).toEqual([
        'invalid-field',
        expect.stringContaining(`field '${path}': expected`.slice(0, 80)),
      ])
    },
  )

  test('rejects an unknown kind', () => {
    expect(refusal({ a: 'constructor' })?.[0]).toBe('invalid-field')
    expect(refusal({ a: 'final' })).toEqual([
      'invalid-field',
      "field 'a': expected set or append or text-delta, found 'final'",
    ])
  })

  test.each<Fields>([
    { a: 'set', 'a.b': 'text-delta' },
    { 'a.b': 'text-delta', a: 'set' },
    { a: 'append', 'a.0.x': 'set' },
    { '*': 'set', 'a.b.c': 'append' },
    { 'a.*': 'append', '*.b.c': 'set' },
    { 'a.*': 'set', 'a.b': 'set' },
    { 'a.*': 'text-delta', '*.b': 'append' },
  ])('rejects two fields that would write the same value: %j', fields => {
    const [code, message] = refusal(fields) ?? []
    expect(code).toBe('invalid-field')
    for (const path of Object.keys(fields)) expect(message).toContain(`'${path}'`)
  })

  // Following each of the 2^40 combinations of wildcards and names would never end.
  test('follows crossed wildcards only as far as the document goes', () => {
    const crossed = Array.from({ length: 40 }, (_, i) =>
      [
        ...Array(40)
          .fill('*')
          .fill('a', i, i + 1),
        `f${i}`,
      ].join('.'),
    )
    const fields = Object.fromEntries(crossed.map(path => [path, 'set' as const]))
    const document = `${'{"a":'.repeat(40)}{"f0":1,"f39":2,"g":3}${'}'.repeat(40)}`
    expect(watch(fields, [document]).updates).toMatchObject([{ value: 1 }, { value: 2 }])
    expect(watch(fields, [document.replaceAll('"a"', '"b"')]).updates).toEqual([])
  })

  test('accepts a text field that may instead be an object with fields', () => {
    const fields: Fields = { a: 'text-delta', 'a.b': 'set' }
    expect(watch(fields, ['{"a":"x"}']).updates).toEqual([{ kind: 'text-delta', path: 'a', delta: 'x' }])
    const { updates, warnings } = watch(fields, ['{"a":{"b":"x"}}'])
    expect(updates).toEqual([{ kind: 'set', path: 'a.b', value: 'x' }])
    expect(warnings).toEqual([])
  })
})

describe('cases that Kortyx handles wrongly', () => {
  const body: Fields = { body: 'text-delta' }

  test('a code fence or prose before the document does not suppress updates', () => {
    for (const text of ['```json\n{"body":"x"}\n```', 'Sure, here it is: {"body":"x"} Bye {"body":"y"}']) {
      expect(joined(watch(body, units(text)).updates)).toEqual([{ kind: 'text-delta', path: 'body', delta: 'x' }])
    }
  })

  test('keys that a path cannot express are not sent', () => {
    const document = '{"m":{"a.b":"dot","":"empty","*":"star","ok":"fine","c.d":"dot"}}'
    for (const kind of ['set', 'text-delta'] as const) {
      const { updates, warnings } = watch({ 'm.*': kind }, [document])
      expect(fold(updates)).toEqual({ m: { ok: 'fine' } })
      expect(warnings).toEqual([`below 'm': expected a key that a path can name, found "a.b"`])
    }
  })

  test('keys that a path cannot express are not sent in the value of a repeated key', () => {
    const { updates } = watch({ 'm.*.x': 'set' }, ['{"m":1,"m":{"a.b":{"x":1},"":{"x":2},"*":{"x":3},"ok":{"x":4}}}'])
    expect(updates).toEqual([{ kind: 'set', path: 'm', value: { ok: { x: 4 } } }])
  })

  test('an object with numeric keys stays an object', () => {
    const fields: Fields = { 'y.*': 'set' }
    const { updates } = watch(fields, ['{"y":{"2024":1,"2025":2}}'])
    expect(updates).toEqual([
      { kind: 'set', path: 'y', value: {} },
      { kind: 'set', path: 'y.2024', value: 1 },
      { kind: 'set', path: 'y.2025', value: 2 },
    ])
    expect(fold(updates)).toEqual({ y: { 2024: 1, 2025: 2 } })
    expect(watch(fields, ['{"y":{"a":1,"2025":2}}']).updates).toHaveLength(2)
    expect(watch({ 'y.*.x': 'set' }, ['{"y":{"1":{},"2":{},"3":{"x":1}}}']).updates).toHaveLength(2)
    expect(fold(watch({ '*.*.*': 'append' }, ['{"a":[{"0":[1]},{"1":[]}]}']).updates)).toEqual({
      a: [{ 0: [1] }, { 1: [] }],
    })
  })

  test('numeric keys of the root are sent once it is known to be an object', () => {
    const { updates, warnings } = watch({ '*': 'set' }, ['{"1":1,"a":2,"3":3}'])
    expect(fold(updates)).toEqual({ a: 2, 3: 3 })
    expect(warnings).toEqual([`below '': expected a key that a path can name, found "1"`])
    expect(
      watch({ '*.list': 'append', '*.text': 'text-delta' }, units('{"1":{"list":[1,2],"text":"x"}}')).updates,
    ).toEqual([])
  })

  test('`__proto__` and inherited names are ordinary keys', () => {
    const document = '{"__proto__":{"x":"p"},"constructor":{"x":"c"},"toString":{"x":"t"}}'
    const { updates } = watch({ '*.x': 'text-delta' }, [document])
    expect(updates.map(({ path }) => path)).toEqual(['__proto__.x', 'constructor.x', 'toString.x'])
    expect(isDeepStrictEqual(fold(updates), JSON.parse(document))).toBe(true)
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  test('a repeated key is sent once more, when complete', () => {
    const fields: Fields = { t: 'text-delta', l: 'append', s: 'set', 'o.x': 'text-delta', 'o.y': 'set' }
    const document =
      '{"t":"ab","l":[1],"s":1,"o":{"x":"x","y":"y","z":"z"},"t":"cd","l":[2,3],"s":2,"o":{"x":"X","z":"Z"},"q":1}'
    const { updates } = watch(fields, units(document))
    expect(joined(updates).slice(5)).toEqual([
      { kind: 'set', path: 't', value: 'cd' },
      { kind: 'set', path: 'l', value: [2, 3] },
      { kind: 'set', path: 's', value: 2 },
      { kind: 'set', path: 'o', value: { x: 'X' } },
    ])
    expect(fold(updates)).toEqual({ t: 'cd', l: [2, 3], s: 2, o: { x: 'X' } })
  })

  test('a repeated key whose value does not fit removes the sent value', () => {
    const fields: Fields = { t: 'text-delta', 'o.x': 'set', 'l.*.x': 'set' }
    const { updates, warnings } = watch(fields, [
      '{"t":"ab","t":5,"o":{"x":1},"o":[],"l":[{"x":1}],"l":[0,{"x":2,"y":3}]}',
    ])
    expect(fold(updates)).toEqual({ t: null, o: [], l: [null, { x: 2 }] })
    expect(warnings).toEqual(["field 't': expected string, found number"])
  })

  test('null is not sent for text and items', () => {
    const { updates, warnings } = watch({ t: 'text-delta', l: 'append' }, ['{"t":null,"l":null}'])
    expect(updates).toEqual([])
    expect(warnings).toEqual([])
  })

  test('a value that does not fit its field is not sent, with one warning per field', () => {
    const fields: Fields = { 't.*': 'text-delta', l: 'append', s: 'append' }
    const { updates, watcher } = watch(fields, units('{"t":[1,{"a":"b"},"ok",2],"l":{"0":1},"s":"text"}'))
    expect(fold(updates)).toEqual({ t: [null, null, 'ok'] })
    expect(watcher.warnings.map(({ code, message }) => [code, message])).toEqual([
      ['path-conflict', "field 't.*': expected string, found number"],
      ['path-conflict', "field 'l': expected array, found object"],
      ['path-conflict', "field 's': expected array, found string"],
    ])
  })

  test('an item after too large a gap is sent only with the final object, with a warning', () => {
    const items: Json[] = Array(4 * MAX_GAP).fill(0)
    for (const i of [MAX_GAP, 2 * MAX_GAP + 1, 3 * MAX_GAP + 3]) items[i] = { x: i }
    for (const [document, field, path] of [
      [{ items }, 'items.*.x', 'items.3075.x'],
      [items, '*.x', '3075.x'],
    ] as const) {
      const { updates, warnings } = watch({ [field]: 'set' }, [JSON.stringify(document)])
      expect(updates).toMatchObject([{ value: MAX_GAP }, { value: 2 * MAX_GAP + 1 }])
      expect(fold(updates)).toBeDefined()
      expect(warnings).toEqual([`path '${path}': expected at most 1024 empty items, found 1025`])
    }
  })

  test('gaps on the path to a field add up, and count only until the first write', () => {
    const row = [...Array(600).fill(null), 'x', ...Array(600).fill(null), 'y']
    const document = [...Array(500).fill([]), row, ['z', ...row], row]
    const { updates, warnings } = watch({ '*.*': 'text-delta' }, [JSON.stringify(document)])
    expect(updates.map(({ path }) => path)).toEqual(['501.0', '501.601', '501.1202', '502.600', '502.1201'])
    expect(fold(updates)).toBeDefined()
    expect(warnings).toEqual(["path '500.600': expected at most 1024 empty items, found 1100"])
  })

  test('a truncated document keeps the sent updates and fails', () => {
    const { updates, watcher } = watch({ 'l.*': 'set', t: 'text-delta' }, [
      '{"l":[1,2],"t":"te',
      'x\u0001t"}',
      '{"t":"again"}',
    ])
    expect(fold(updates)).toEqual({ l: [1, 2], t: 'tex' })
    expect(watcher.json.status).toBe('failed')
    expect(watcher.json.error?.message).toBe('offset 19: expected more of a string, found "\\u0001"')
  })

  // Looking at all earlier matches for each piece would take 6 * 10^10 steps, far more than a test has time for.
  test('reads a text in linear time, for any number of matches and fields', () => {
    const items = Array.from({ length: 50_000 }, (_, i) => ({ body: `body of ${i}`, tags: [i], title: 't' }))
    const text = JSON.stringify({ items, body: 'long text '.repeat(20_000) })
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`items.*.f${i}`, 'set' as const]))
    const fields: Fields = {
      ...many,
      'items.*.body': 'text-delta',
      'items.*.tags': 'append',
      'items.*.title': 'set',
      body: 'text-delta',
    }
    const watcher = new FieldWatcher(fields)
    const receiver = new StructuredAccumulator()
    for (let i = 0; i < text.length; i += 2) {
      for (const update of watcher.push(text.slice(i, i + 2))) {
        receiver.write({ type: 'structured-data', streamId: 's', dataType: 'test', ...update })
      }
    }
    expect(isDeepStrictEqual(receiver.read()?.data, JSON.parse(text))).toBe(true)
  })
})

describe('any declaration, any document, any split', () => {
  test('the updates fold to the declared fields of the document without an error', () => {
    let sent = 0
    fc.assert(
      fc.property(fields, text, cutLengths, (fields, text, lengths) => {
        const { updates, warnings } = watch(fields, splitAt(text, lengths))
        const document = JSON.parse(text)
        const expected = declaredIn(document, fields)
        const actual = declaredIn(fold(updates), fields)
        for (const key of expected.keys()) {
          if (actual.has(key) || Array.isArray(document) || !/^\d+(\.|$)/.test(key)) continue
          expected.delete(key)
          expect(warnings).not.toEqual([])
        }
        sent += actual.size
        expect(isDeepStrictEqual(actual, expected)).toBe(true)
      }),
      { numRuns: runs(1000) },
    )
    expect(sent).toBeGreaterThan(runs(100))
  })

  test('a split changes only how growth is divided', () => {
    fc.assert(
      fc.property(fields, text, cutLengths, (fields, text, lengths) => {
        const split = watch(fields, splitAt(text, lengths))
        const unsplit = watch(fields, [text])
        expect(joined(split.updates)).toEqual(joined(unsplit.updates))
        expect(split.warnings).toEqual(unsplit.warnings)
        for (const updates of split.pushes) expect(joined(updates)).toEqual(updates)
      }),
      { numRuns: runs(400) },
    )
  })
})
