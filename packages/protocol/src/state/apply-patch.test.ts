import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Operation } from '../catalogue/chunk.ts'
import { ProtocolError } from '../error/protocol-error.ts'
import type { Json } from '../json/json.ts'
import { runs } from '../property-runs.fixture.ts'
import { clone, freeze } from '../structured/structured-model.fixture.ts'
import { applyPatch } from './apply-patch.ts'
import { patchNaively } from './patch-model.fixture.ts'

const parse = (json: string): Json => JSON.parse(json)
const patch = (document: Json | undefined, ...operations: unknown[]) =>
  applyPatch(freeze(clone(document)), freeze(operations) as Operation[])
const refusal = (document: Json | undefined, ...operations: unknown[]): ProtocolError => {
  try {
    patch(document, ...operations)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
  throw new Error('expected a refusal')
}
const add = (path: string, value: Json) => ({ op: 'add', path, value })
const remove = (path: string) => ({ op: 'remove', path })
const replace = (path: string, value: Json) => ({ op: 'replace', path, value })
const move = (from: string, path: string) => ({ op: 'move', from, path })
const copy = (from: string, path: string) => ({ op: 'copy', from, path })
const test = (path: string, value: Json) => ({ op: 'test', path, value })

describe('RFC 6902, appendix A', () => {
  it.each<[string, Json, object[], Json]>([
    ['A.1 adding an object member', { foo: 'bar' }, [add('/baz', 'qux')], { foo: 'bar', baz: 'qux' }],
    ['A.2 adding an array element', { foo: ['bar', 'baz'] }, [add('/foo/1', 'qux')], { foo: ['bar', 'qux', 'baz'] }],
    ['A.3 removing an object member', { baz: 'qux', foo: 'bar' }, [remove('/baz')], { foo: 'bar' }],
    ['A.4 removing an array element', { foo: ['bar', 'qux', 'baz'] }, [remove('/foo/1')], { foo: ['bar', 'baz'] }],
    ['A.5 replacing a value', { baz: 'qux', foo: 'bar' }, [replace('/baz', 'boo')], { baz: 'boo', foo: 'bar' }],
    [
      'A.6 moving a value',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [move('/foo/waldo', '/qux/thud')],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'A.7 moving an array element',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [move('/foo/1', '/foo/3')],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'A.8 testing a value: success',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [test('/baz', 'qux'), test('/foo/1', 2)],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'A.10 adding a nested member object',
      { foo: 'bar' },
      [add('/child', { grandchild: {} })],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    [
      'A.11 ignoring unrecognized elements',
      { foo: 'bar' },
      [{ ...add('/baz', 'qux'), xyz: 123 }],
      { foo: 'bar', baz: 'qux' },
    ],
    ['A.14 escape ordering', { '/': 9, '~1': 10 }, [test('/~01', 10)], { '/': 9, '~1': 10 }],
    ['A.16 adding an array value', { foo: ['bar'] }, [add('/foo/-', ['abc', 'def'])], { foo: ['bar', ['abc', 'def']] }],
  ])('%s', (_, document, operations, wanted) => expect(patch(document, ...operations)).toEqual(wanted))

  it.each<[string, Json, object, string]>([
    [
      'A.9 testing a value: error',
      { baz: 'qux' },
      test('/baz', 'bar'),
      `operation 0 (test '/baz'): expected "bar", found "qux"`,
    ],
    [
      'A.12 adding to a nonexistent target',
      { foo: 'bar' },
      add('/baz/bat', 'qux'),
      "operation 0 (add '/baz/bat'): expected array or object at '/baz', found nothing",
    ],
    [
      'A.13 invalid document: two ops in one, the last counts',
      { foo: 'bar' },
      parse('{"op":"add","path":"/baz","value":"qux","op":"remove"}') as object,
      "operation 0 (remove '/baz'): expected a value at '/baz', found nothing",
    ],
    [
      'A.15 comparing strings and numbers',
      { '/': 9, '~1': 10 },
      test('/~01', '10'),
      `operation 0 (test '/~01'): expected "10", found 10`,
    ],
  ])('%s', (_, document, operation, message) => {
    expect(refusal(document, operation)).toMatchObject({ code: 'invalid-patch', message })
  })
})

describe('the six operations', () => {
  it.each<[string, Json, object[], Json]>([
    ['no operation', { a: 1 }, [], { a: 1 }],
    ['add replaces a member', { a: 1 }, [add('/a', null)], { a: null }],
    ['add at the end, by index and by -', [1], [add('/1', 2), add('/-', 3)], [1, 2, 3]],
    ['add in an array in an array', [1, [2]], [add('/1/0', 1)], [1, [1, 2]]],
    ['add replaces the root', { a: 1 }, [add('', [1])], [1]],
    ['replace the root', { a: 1 }, [replace('', null)], null],
    ['replace null', { a: null }, [replace('/a', 1)], { a: 1 }],
    ['replace an element', [1, 2], [replace('/1', [3])], [1, [3]]],
    ['replace keeps the order of the keys', { a: 1, b: 2 }, [replace('/a', 3)], { a: 3, b: 2 }],
    ['remove null', { a: null }, [remove('/a')], {}],
    [
      '- is a key of an object',
      { '-': 1 },
      [replace('/-', 2), add('/x', {}), add('/x/-', 3)],
      { '-': 2, x: { '-': 3 } },
    ],
    ['an index is a key of an object', {}, [add('/0', 1), add('/01', 2)], { 0: 1, '01': 2 }],
    [
      'the empty key',
      { '': 1 },
      [replace('/', 2), add('/a', { '': {} }), add('/a//b', 3)],
      { '': 2, a: { '': { b: 3 } } },
    ],
    [
      'escapes',
      { 'a/b': 1, 'm~n': 2, '~1': 3 },
      [replace('/a~1b', 4), replace('/m~0n', 5), replace('/~01', 6)],
      { 'a/b': 4, 'm~n': 5, '~1': 6 },
    ],
    [
      'other characters need none',
      { 'c%d': 0, 'k"l': 1, ' ': 2 },
      [replace('/c%d', 3), replace('/k"l', 4), replace('/ ', 5)],
      { 'c%d': 3, 'k"l': 4, ' ': 5 },
    ],
    ['move to where it is: removed, then added', { a: 1, b: 2 }, [move('/a', '/a')], { b: 2, a: 1 }],
    ['move the root to where it is', { a: 1 }, [move('', '')], { a: 1 }],
    ['move over a member', { a: 1, b: 2 }, [move('/a', '/b')], { b: 1 }],
    ['move to the root', { a: { b: 1 } }, [move('/a', '')], { b: 1 }],
    ['move to an end that moved', [1, 2, 3], [move('/0', '/-'), move('/0', '/2')], [3, 1, 2]],
    ['move beside what has the same beginning', { a: 1, ab: {} }, [move('/a', '/ab/c')], { ab: { c: 1 } }],
    ['copy', { a: [1], b: 2 }, [copy('/a', '/b'), copy('/a/0', '/a/-')], { a: [1, 1], b: [1] }],
    [
      'copy into itself',
      { a: { x: 1 } },
      [copy('/a', '/a/b'), copy('', '/c')],
      { a: { x: 1, b: { x: 1 } }, c: { a: { x: 1, b: { x: 1 } } } },
    ],
    ['test null, nothing else', { a: null }, [test('/a', null), test('', { a: null })], { a: null }],
    [
      'test whatever the order of the keys',
      { a: { x: 1, y: [{}] } },
      [test('', { a: { y: [{}], x: 1 } })],
      { a: { x: 1, y: [{}] } },
    ],
    ['test for 0 where -0 is', [-0], [test('', [0])], [-0]],
    ['test numbers by value', [1.0, -0, 1e2], [test('', [1, 0, 100])], [1, -0, 100]],
    [
      'each operation sees what the one before it did',
      {},
      [add('/a', {}), add('/a/b', [1]), test('/a/b/0', 1), remove('/a/b/0')],
      { a: { b: [] } },
    ],
  ])('%s', (_, document, operations, wanted) => {
    expect(JSON.stringify(patch(document, ...operations))).toBe(JSON.stringify(wanted))
  })

  it.each<[string, Json | undefined, object, string]>([
    ['an index past the end', [1], add('/2', 0), "expected an index up to 1, found '2'"],
    ['a leading zero', [1, 2], add('/01', 0), "expected an index up to 2, found '01'"],
    ['a leading zero, replaced', [1, 2], replace('/01', 0), "expected a value at '/01', found nothing"],
    ['an index that is none', [1, 2], add('/1e0', 0), "expected an index up to 2, found '1e0'"],
    ['a negative index', [1, 2], remove('/-1'), "expected a value at '/-1', found nothing"],
    ['length is not an index', [1, 2], replace('/length', 0), "expected a value at '/length', found nothing"],
    ['- names nothing yet', [1], replace('/-', 0), "expected a value at '/-', found nothing"],
    ['- names nothing to test', [1], test('/-', 1), "expected a value at '/-', found nothing"],
    ['- on the way', [[1]], add('/-/0', 0), "expected array or object at '/-', found nothing"],
    ['an escaped key that is not there', { 'a~1b': 1 }, remove('/a~1b'), "expected a value at '/a~1b', found nothing"],
    ['below a string', { a: 's' }, add('/a/0', 1), "expected array or object at '/a', found string"],
    ['below null', { a: null }, add('/a/b', 1), "expected array or object at '/a', found null"],
    ['replace what is missing', {}, replace('/a', 1), "expected a value at '/a', found nothing"],
    ['remove what is missing', {}, remove('/a'), "expected a value at '/a', found nothing"],
    ['move what is missing', {}, move('/a', '/b'), "expected a value at '/a', found nothing"],
    ['copy what is missing', {}, copy('/a', '/b'), "expected a value at '/a', found nothing"],
    ['test what is missing', {}, test('/a', null), "expected a value at '/a', found nothing"],
    ['test an array', [1], test('', [2]), 'expected [2], found [1]'],
    ['test an array by its object', [1], test('', { 0: 1 }), 'expected {"0":1}, found [1]'],
    ['test for fewer keys', { a: 1, b: 2 }, test('', { a: 1 }), 'expected {"a":1}, found {"a":1,"b":2}'],
    [
      'test what would equal an inherited key',
      parse('{"__proto__":{}}'),
      test('', { a: 1 }),
      'expected {"a":1}, found {"__proto__":{}}',
    ],
    ['test for other keys', { a: 1 }, test('', parse('{"__proto__":1}')), 'expected {"__proto__":1}, found {"a":1}'],
    ['move into itself', { a: { b: 1 } }, move('/a', '/a/c'), "expected array or object at '/a', found nothing"],
    ['move the root into itself', { a: 1 }, move('', '/a'), "expected array or object at '', found nothing"],
    [
      'move an item into the one that comes in its place',
      [{ a: 1 }, { b: 2 }],
      move('/0', '/0/c'),
      "expected array or object at '/0', found nothing",
    ],
    ['no document to replace', undefined, replace('', 1), "expected a value at '', found nothing"],
    ['no document to add in', undefined, add('/a', 1), "expected array or object at '', found nothing"],
    ['a pointer without a slash', { a: 1 }, remove('a'), 'expected a JSON Pointer, found "a"'],
    ['a lone tilde', { '~': 1 }, remove('/~'), 'expected a JSON Pointer, found "/~"'],
    ['an unknown escape', { '~2': 1 }, remove('/~2'), 'expected a JSON Pointer, found "/~2"'],
    ['no pointer', {}, { op: 'remove' }, 'expected a JSON Pointer, found undefined'],
    ['no from', {}, { op: 'move', path: '/a' }, 'expected a JSON Pointer, found undefined'],
    ['no value', {}, { op: 'add', path: '/a' }, 'expected a value, found nothing'],
    ['no value to test', {}, { op: 'test', path: '' }, 'expected a value, found nothing'],
    [
      'a test of a long value, and reports only its beginning',
      'x'.repeat(100),
      test('', 'y'.repeat(100)),
      `expected "${'y'.repeat(39)}, found "${'x'.repeat(39)}`,
    ],
    [
      'an undefined value',
      { a: 1 },
      { op: 'replace', path: '/a', value: undefined },
      'expected a value, found nothing',
    ],
    [
      'a pointer that only prints like one',
      { a: 1 },
      { op: 'remove', path: ['/a'] },
      'expected a JSON Pointer, found ["/a"]',
    ],
    ['no operation', { a: 1 }, { path: '/a' }, "expected an operation of RFC 6902, found 'undefined'"],
    ['an unknown operation', {}, { op: 'spam', path: '/a' }, "expected an operation of RFC 6902, found 'spam'"],
  ])('rejects %s', (_, document, operation, message) => {
    const { op, path } = operation as { op: string; path: string }
    expect(refusal(document, operation)).toMatchObject({
      code: 'invalid-patch',
      message: `operation 0 (${op} '${path}'): ${message}`,
    })
  })

  it('adding at the root creates a document, removing the root returns none', () => {
    expect(patch(undefined)).toBeUndefined()
    expect(patch(undefined, add('', {}), add('/a', 1))).toEqual({ a: 1 })
    expect(patch({ a: 1 }, remove(''))).toBeUndefined()
    expect(patch({ a: 1 }, remove(''), add('', []))).toEqual([])
  })
})

describe('prototype keys', () => {
  it('are ordinary keys in all operations', () => {
    const patched = patch(
      {},
      add('/__proto__', { x: 1 }),
      add('/__proto__/y', 2),
      add('/constructor', {}),
      add('/constructor/prototype', 3),
    )
    expect(JSON.stringify(patched)).toBe('{"__proto__":{"x":1,"y":2},"constructor":{"prototype":3}}')
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype)
    expect((patched as Record<string, unknown>)['x']).toBeUndefined()
    const document = parse('{"__proto__":{"x":1}}')
    expect(JSON.stringify(patch(document, test('/__proto__/x', 1), replace('/__proto__/x', 2)))).toBe(
      '{"__proto__":{"x":2}}',
    )
    expect(JSON.stringify(patch(document, copy('/__proto__', '/a'), move('/__proto__/x', '/b')))).toBe(
      '{"__proto__":{},"a":{"x":1},"b":1}',
    )
    expect(JSON.stringify(patch(document, remove('/__proto__')))).toBe('{}')
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  it.each([
    add('/constructor/x', 1),
    remove('/toString'),
    replace('/__proto__', {}),
    add('/__proto__/x', 1),
    copy('/valueOf', '/a'),
    test('/hasOwnProperty', {}),
  ])('do not exist if they are inherited: %o', operation => {
    expect(refusal({}, operation).code).toBe('invalid-patch')
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })
})

describe('a patch applies completely or not at all', () => {
  it('reports the failed operation and does not change the document', () => {
    const document = freeze({ a: [1], b: { c: 2 } })
    const operations = [add('/a/-', 2), remove('/b/c'), test('/a', [1]), add('/d', 1)] as Operation[]
    expect(() => applyPatch(document, operations)).toThrow(
      new ProtocolError('invalid-patch', "operation 2 (test '/a'): expected [1], found [1,2]"),
    )
    expect(document).toEqual({ a: [1], b: { c: 2 } })
  })

  it('shares unchanged values', () => {
    const document = freeze({ a: { b: {}, c: [{}] }, d: {} })
    const patched = applyPatch(document, [add('/a/c/-', 1)] as Operation[]) as typeof document
    expect(patched).toEqual({ a: { b: {}, c: [{}, 1] }, d: {} })
    expect(patched.a.b).toBe(document.a.b)
    expect(patched.a.c[0]).toBe(document.a.c[0])
    expect(patched.d).toBe(document.d)
    expect(applyPatch(document, [test('/d', {})] as Operation[])).toBe(document)
    const copied = applyPatch(document, [copy('/a/c/0', '/d/e')] as Operation[]) as typeof document
    expect(copied).toEqual({ a: { b: {}, c: [{}] }, d: { e: {} } })
    expect(copied.a).toBe(document.a)
  })

  it.each([
    ['add', add('/list/-', 1)],
    ['copy of a scalar', copy('/other/0', '/list/-')],
    ['copy of a container', copy('/other', '/list/-')],
  ])('copies each container once for any number of operations: %s', (_, operation) => {
    const { slice } = Array.prototype
    let copies = 0
    const document = { list: Array(1000).fill(0), other: [1] }
    const operations = Array.from({ length: 500 }, () => operation) as Operation[]
    Array.prototype.slice = function (this: unknown[], ...range) {
      if (this.length >= 1000) copies++
      return slice.apply(this, range)
    }
    try {
      expect((applyPatch(document, operations) as typeof document).list).toHaveLength(1500)
    } finally {
      Array.prototype.slice = slice
    }
    expect(copies).toBe(1)
    expect(document.list).toHaveLength(1000)
  })

  it('copied values are independent, even if they were already written to', () => {
    expect(patch({ a: { x: {} } }, add('/a/x/y', 1), copy('/a', '/b'), add('/b/x/z', 2), add('/a/w', 3))).toEqual({
      a: { x: { y: 1 }, w: 3 },
      b: { x: { y: 1, z: 2 } },
    })
    const shared = freeze({ n: 1 })
    expect(patch({}, add('/a', shared), add('/b', shared), replace('/a/n', 2))).toEqual({ a: { n: 2 }, b: { n: 1 } })
  })
})

it('agrees with the simple model, including rejections', () => {
  const pointer = fc
    .array(fc.constantFrom('a', 'b', '0', '1', '-', '01', '', '~0', '~1', '__proto__', 'constructor'), { maxLength: 3 })
    .map(keys => keys.map(key => `/${key}`).join(''))
  const value: fc.Arbitrary<Json> = fc.constantFrom<Json>(
    1,
    null,
    'x',
    [],
    {},
    [1, [2]],
    { a: { b: [] } },
    { b: 1, a: 2 },
    parse('{"__proto__":{"a":1},"~":[]}'),
  )
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'add', 'replace', 'test'), path: pointer, value }),
    fc.record({ op: fc.constant('remove'), path: pointer }),
    fc.record({ op: fc.constantFrom('move', 'copy'), from: pointer, path: pointer }),
  ) as fc.Arbitrary<Operation>
  let applied = 0
  fc.assert(
    fc.property(value, fc.array(operation, { minLength: 1, maxLength: 8 }), (document, candidates) => {
      freeze(document)
      let operations: Operation[] = []
      // First one by one, so that long patches succeed, then the whole patch.
      for (const candidate of candidates) {
        const next = freeze([...operations, candidate])
        let wanted: Json | undefined
        try {
          wanted = patchNaively(document, next)
        } catch (error) {
          if (error !== 'refused') throw error
          expect(() => applyPatch(document, next)).toThrow(`operation ${operations.length} (`)
          continue
        }
        expect(JSON.stringify(applyPatch(document, next))).toBe(JSON.stringify(wanted))
        operations = next
        applied++
      }
    }),
    { numRuns: runs(1000) },
  )
  expect(applied).toBeGreaterThan(runs(300))
}, 120_000)
