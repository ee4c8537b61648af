import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../property-runs.fixture.ts'
import { decodeCursor, encodeCursor, MAX_CURSOR_LENGTH } from './cursor.ts'

const refused = expect.objectContaining({ name: 'ProtocolError', code: 'invalid-cursor' })

describe('a cursor', () => {
  it('is a short and readable token for the names that stores use', () => {
    expect(encodeCursor({ sequence: 42, incarnation: 'k3Jx_9', epoch: '7-a1b2' })).toBe('42.k3Jx_9.7-a1b2')
  })

  it('is decoded to the encoded value', () => {
    const name = fc.stringMatching(/^[\w-]{1,40}$/)
    fc.assert(
      fc.property(fc.maxSafeNat(), name, name, (sequence, incarnation, epoch) => {
        const cursor = { sequence, incarnation, epoch }
        const token = encodeCursor(cursor)
        expect(decodeCursor(token)).toEqual(cursor)
        expect(token).toMatch(/^[\w.-]+$/)
        expect(new URLSearchParams(`after=${token}`).get('after')).toBe(token)
        expect(new Headers({ 'last-event-id': token }).get('last-event-id')).toBe(token)
      }),
      { numRuns: runs(200) },
    )
  })

  it('is unproven for a sequence alone, as a number or as text', () => {
    expect(decodeCursor(7)).toEqual({ sequence: 7 })
    expect(decodeCursor('7')).toEqual({ sequence: 7 })
    expect(decodeCursor(0)).toEqual({ sequence: 0 })
  })

  it.each([
    ['an empty text', ''],
    ['a negative number', -1],
    ['digits of a negative number', '-1'],
    ['a fraction', 1.5],
    ['NaN', Number.NaN],
    ['a number above the largest safe integer', 2 ** 53],
    ['too many digits', '9'.repeat(20)],
    ['two parts', '1.a'],
    ['four parts', '1.a.b.c'],
    ['no sequence', '.a.b'],
    ['a sequence with an exponent', '1e3.a.b'],
    ['a sequence with a leading zero', '01.a.b'],
    ['an empty name', '1..b'],
    ['a name that would need an escape', '1.ä.b'],
    ['a space', ' 1.a.b'],
    ['a line end', '1.a.b\n'],
    ['too long a token', `1.${'a'.repeat(MAX_CURSOR_LENGTH)}.b`],
    ['too long a number', `${'0'.repeat(MAX_CURSOR_LENGTH)}7`],
    ['null', null as unknown as string],
  ])('is invalid: %s', (_, token) => {
    expect(() => decodeCursor(token)).toThrow(refused)
  })

  it('reports the found text, shortened', () => {
    expect(() => decodeCursor('nonsense')).toThrow('cursor: expected token or sequence, found "nonsense"')
    const long = (() => {
      try {
        return decodeCursor('x'.repeat(5000))
      } catch (error) {
        return (error as Error).message
      }
    })()
    expect(String(long).length).toBeLessThan(120)
  })

  it('is never encoded to a token that cannot be decoded', () => {
    expect(() => encodeCursor({ sequence: -1, incarnation: 'a', epoch: 'b' })).toThrow(refused)
    expect(() => encodeCursor({ sequence: 1, incarnation: 'a b', epoch: 'b' })).toThrow(refused)
    expect(() => encodeCursor({ sequence: 1, incarnation: 'a', epoch: '' })).toThrow(refused)
    expect(() => encodeCursor({ sequence: 1, incarnation: 'a'.repeat(MAX_CURSOR_LENGTH), epoch: 'b' })).toThrow(refused)
  })

  it('decodes any text or throws invalid-cursor', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f.~_-]{0,12}$/), text => {
        try {
          const cursor = decodeCursor(text)
          if (cursor.incarnation !== undefined) expect(encodeCursor(cursor)).toBe(text)
        } catch (error) {
          expect(error).toEqual(refused)
        }
      }),
      { numRuns: runs(300) },
    )
  })
})
