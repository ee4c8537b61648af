import { expect, test } from 'vitest'
import { plainText } from './plain-text.ts'

test.each([
  ['Read more at [the station](https://weather.example/paris).', 'Read more at the station.'],
  ['Read more at [the stati…', 'Read more at the stati…'],
  ['See [it](https://weather.exa…', 'See it'],
  ['## The **weather** in _Paris_', 'The weather in Paris'],
  ['call snake_case_name `now`', 'call snake_case_name now'],
  ['- an umbrella', 'an umbrella'],
  ['2. Open the race', 'Open the race'],
  [undefined, undefined],
])('shows %j without Markdown', (line, plain) => expect(plainText(line)).toBe(plain))
