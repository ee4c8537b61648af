// @vitest-environment jsdom
import './react-18.fixture.ts'
import { version } from 'react'
import { version as domVersion } from 'react-dom'
import { expect, test } from 'vitest'

// All of them once more.
import './adapter.test.tsx'
import './handed.test.tsx'
import './hydration.test.tsx'
import './provider.test.tsx'
import './renders.test.tsx'
import './session.test.tsx'
import './structured.test.tsx'

test('this is React 18', () => {
  expect([version, domVersion].map(one => one.split('.')[0])).toEqual(['18', '18'])
})
