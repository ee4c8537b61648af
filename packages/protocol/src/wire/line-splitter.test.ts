import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../property-runs.fixture.ts'
import { LineSplitter } from './line-splitter.ts'

/** All lines of a text in pieces. The last one is incomplete. */
function linesOf(...pieces: string[]): string[] {
  const lines = new LineSplitter()
  return [...pieces.flatMap(piece => lines.push(piece)), lines.end()]
}

describe('LineSplitter', () => {
  it('splits at LF, CRLF and CR', () => {
    expect(linesOf('a\nb\r\nc\rd')).toEqual(['a', 'b', 'c', 'd'])
    expect(linesOf('\n\r\n\r\r\n')).toEqual(['', '', '', '', ''])
  })

  it('returns a line as soon as it ends, also at a CR', () => {
    const lines = new LineSplitter()
    expect(lines.push('a')).toEqual([])
    expect(lines.push('b\r')).toEqual(['ab'])
    expect(lines.push('\n')).toEqual([])
    expect(lines.push('\n')).toEqual([''])
  })

  it('treats a split CRLF as one line end', () => {
    expect(linesOf('a\r', '\nb')).toEqual(['a', 'b'])
    expect(linesOf('a\r', '', '\nb')).toEqual(['a', 'b'])
    expect(linesOf('a\r', 'b', '\nc')).toEqual(['a', 'b', 'c'])
    expect(linesOf('a\r', '\r', '\n\n')).toEqual(['a', '', '', ''])
  })

  it('omits a BOM at the start, and keeps every other one', () => {
    expect(linesOf('\ufeffa\n\ufeffb')).toEqual(['a', '\ufeffb'])
    expect(linesOf('', '\ufeff', '\ufeffa')).toEqual(['\ufeffa'])
    expect(linesOf('a', '\ufeff')).toEqual(['a\ufeff'])
  })

  it('has the length of the incomplete line', () => {
    const lines = new LineSplitter()
    const lengths = ['ab', 'c', 'd\ne', '\r', '\n', ''].map(piece => {
      lines.push(piece)
      return lines.length
    })
    expect(lengths).toEqual([2, 3, 1, 0, 0, 0])
    lines.push('xyz')
    expect([lines.end(), lines.length, lines.end()]).toEqual(['xyz', 0, ''])
  })

  it('returns the same lines for any split', () => {
    const piece = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', '🌾', '\ufeff', '\u2028', '\0'), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), pieces => {
        const texts = pieces.map(units => units.join(''))
        const text = texts.join('')
        const lines = linesOf(...texts)
        expect(lines).toEqual(linesOf(...text))
        expect(lines).toEqual(text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/))
      }),
      { numRuns: runs(500) },
    )
  })
})
