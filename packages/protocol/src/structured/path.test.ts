import { describe, expect, it } from 'vitest'
import { isIndex, MAX_DEPTH, parsePath } from './path.ts'

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

  it.each(['', '.', 'a..b', '.a', 'a.'])('refuses the empty segment in %j', path => {
    expect(refusal(path)).toMatchObject({ name: 'ProtocolError', code: 'invalid-path' })
    expect(refusal(path)).toMatchObject({ message: expect.stringContaining(`path ${JSON.stringify(path)}: expected`) })
  })

  it.each(['*', 'a.*', '*.b', 'a.*.b'])('refuses the wildcard in %j, which only declared fields may have', path => {
    expect(refusal(path)).toMatchObject({ code: 'invalid-path', message: expect.stringContaining('wildcard') })
  })

  it('refuses what is no string', () => {
    for (const path of [undefined, null, 7, ['a']]) expect(refusal(path)).toMatchObject({ code: 'invalid-path' })
  })

  it('refuses more than MAX_DEPTH segments', () => {
    const deepest = Array(MAX_DEPTH).fill('a')
    expect(parsePath(deepest.join('.'))).toEqual(deepest)
    expect(refusal([...deepest, 'a'].join('.'))).toMatchObject({
      code: 'invalid-path',
      message: expect.stringContaining('found 65 segments'),
    })
  })

  it('remembers a path, and is right again after it forgot', () => {
    const first = parsePath('hot.path')
    expect(parsePath('hot.path')).toBe(first)
    for (let i = 0; i < 300; i++) expect(parsePath(`flood.${i}`)).toEqual(['flood', `${i}`])
    expect(parsePath('hot.path')).toEqual(first)
    expect(parsePath('hot.path')).not.toBe(first)
    const long = 'x'.repeat(300)
    expect(parsePath(long)).not.toBe(parsePath(long))
  })

  it('refuses a bad path each time', () => {
    for (let i = 0; i < 3; i++) expect(refusal('a..b')).toMatchObject({ code: 'invalid-path' })
  })
})

describe('isIndex', () => {
  it.each(['0', '1', '10', '4294967295', '9007199254740991'])('%s is one', key => expect(isIndex(key)).toBe(true))
  it.each([
    '',
    '00',
    '007',
    '-1',
    '-0',
    '+1',
    '1.0',
    '1e3',
    '0x1',
    ' 1',
    '1 ',
    '١',
    'a',
    'NaN',
    'Infinity',
    '9007199254740992',
    '99999999999999999999',
  ])('%j is a plain key', key => expect(isIndex(key)).toBe(false))
})
