import { expect, test } from 'vitest'
import { plainOf } from './plain.ts'

test.each([
  ['More is told by [the station](https://weather.example/paris).', 'More is told by the station.'],
  ['More is told by [the stati…', 'More is told by the stati…'],
  ['See [it](https://weather.exa…', 'See it'],
  ['## The **weather** in _Paris_', 'The weather in Paris'],
  ['call snake_case_name `now`', 'call snake_case_name now'],
  [undefined, undefined],
])('%s', (line, plain) => expect(plainOf(line)).toBe(plain))
