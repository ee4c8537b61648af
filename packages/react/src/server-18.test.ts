// @vitest-environment node
// With a worker of its own: other files import another React.
import './react-18.fixture.ts'
import { version } from 'react'
import { expect, test } from 'vitest'

// All of them once more.
import './server.test.tsx'

test('runs with React 18', () => {
  expect(version.split('.')[0]).toBe('18')
})
