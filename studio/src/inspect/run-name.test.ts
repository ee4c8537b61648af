import { expect, test } from 'vitest'
import { runName } from './run-name.ts'

test('a run is called alike, whichever name of its program is at hand', () => {
  for (const program of ['agent:echo@1', 'agent:echo', 'echo']) expect(runName({ number: 4, program })).toBe('4. echo')
  expect(runName({ number: 1, program: 'workflow:guest-book@2.1' })).toBe('1. guest-book')
})
