import { expect, it } from 'vitest'
import { positionsOf } from './stream-positions.ts'

const positions = (query: string) =>
  positionsOf(new URLSearchParams(query), 3).map(({ sessionId, after }) => `${sessionId} ${after}`)

it.each([
  ['session=a', ['a 0']],
  ['session=a&session=b', ['a 0', 'b 0']],
  ['session=a&after=5&session=b', ['a 5', 'b 0']],
  ['session=a&session=b&after=5', ['a 0', 'b 5']],
  ['session=a&merge=false&after=5&session=b&after=6', ['a 5', 'b 6']],
  // Clients may send all sessions first, then all positions.
  ['session=a&session=b&after=5&after=6', ['a 5', 'b 6']],
  ['merge=true&session=a&session=b&session=c&after=0&after=6&after=7', ['a 0', 'b 6', 'c 7']],
])('reads %s as %j', (query, expected) => {
  expect(positions(query)).toEqual(expected)
})

it.each([
  ['', 'session: expected at least one'],
  ['after=5', 'after: expected one after its session, or one for each session after all of them'],
  ['after=5&session=a', 'after: expected one after its session, or one for each session after all of them'],
  ['session=a&after=5&after=6', 'after: expected one after its session, or one for each session after all of them'],
  [
    'session=a&session=b&session=c&after=5&after=6',
    'after: expected one after its session, or one for each session after all of them',
  ],
  ['session=a&session=a', 'session: expected each session once'],
  ['session=a&session=b&session=c&session=d', 'session: expected at most 3'],
])('refuses %s', (query, problem) => {
  expect(() => positions(query)).toThrow(problem)
})

it('refuses an invalid position', () => {
  expect(() => positions('session=a&session=b&after=5&after=x')).toThrow(expect.objectContaining({ status: 400 }))
})
