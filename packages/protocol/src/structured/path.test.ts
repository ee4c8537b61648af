import { describe, expect, it } from 'vitest'
import { isIndex } from '../json/container.ts'
import { MAX_PATH_SEGMENTS, parsePath } from './path.ts'

const refusal = (path: unknown) => {
  try {
    return parsePath(path as string)
  } catch (error) {
    return error
  }
}

describe('parsePath', () => {
  it('splits at dots and keeps every other character', () => {
    expect(parsePath('draft.body')).toEqual(['draft', 'body'])
    expect(parsePath('sections.0.body')).toEqual(['sections', '0', 'body'])
    expect(parsePath(' .a*.~1/[]"')).toEqual([' ', 'a*', '~1/[]"'])
    expect(parsePath('__proto__.constructor')).toEqual(['__proto__', 'constructor'])
  })

  it.each(['', '.', 'a..b', '.a', 'a.'])('rejects the empty segment in %j', path => {
    expect(refusal(path)).toMatchObject({ name: 'ProtocolError', code: 'invalid-path' })
    expect(refusal(path)).toMatchObject({
      message: expect.stringMatching(/: expected 1 to 64 names joined by dots, found '\.{0,2}'$/),
    })
  })

  it.each(['*', 'a.*', '*.b', 'a.*.b'])('rejects the wildcard in %j, which is only valid in declared fields', path => {
    expect(refusal(path)).toMatchObject({ code: 'invalid-path', message: expect.stringMatching(/found '\.?\*\.?'$/) })
  })

  it('rejects a value that is not a string', () => {
    for (const path of [undefined, null, 7, ['a']]) expect(refusal(path)).toMatchObject({ code: 'invalid-path' })
  })

  it('rejects a path of more than MAX_PATH_SEGMENTS segments', () => {
    const deepest = Array(MAX_PATH_SEGMENTS).fill('a')
    expect(parsePath(deepest.join('.'))).toEqual(deepest)
    expect(refusal([...deepest, 'a'].join('.'))).toMatchObject({
      code: 'invalid-path',
      message: expect.stringMatching(/expected 1 to 64 names joined by dots, found 65$/),
    })
  })
})

describe('isIndex', () => {
  it.each(['0', '1', '10', '4294967295', '9007199254740991', '99999999999999999999'])('accepts %s', key =>
    expect(isIndex(key)).toBe(true),
  )
  it.each(['', '00', '007', '-1', '-0', '+1', '1.0', '1e3', '0x1', ' 1', '1 ', '١', 'a', 'NaN', 'Infinity'])(
    '%j is a plain key',
    key => expect(isIndex(key)).toBe(false),
  )
})
