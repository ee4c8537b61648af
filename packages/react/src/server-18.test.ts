// @vitest-environment node
// Needs its own worker: other files import another version of React.
import './react-18.fixture.ts'
import { version } from 'react'
import { expect, test } from 'vitest'

// Runs all these tests again.
import './server.test.tsx'

test('all tests of this file use React 18', () => {
  expect(version.split('.')[0]).toBe('18')
})
