import { expect, test } from 'vitest'
import { runName } from './run-name.ts'

test('names a run without the kind and version of its program', () => {
  for (const program of ['agent:echo@1', 'agent:echo', 'echo']) expect(runName({ number: 4, program })).toBe('4. echo')
  expect(runName({ number: 1, program: 'workflow:guest-book@2.1' })).toBe('1. guest-book')
})
