// @vitest-environment jsdom
import './react-18.fixture.ts'
import { version } from 'react'
import { version as domVersion } from 'react-dom'
import { expect, test } from 'vitest'

// Runs all these tests again.
import './provider/adapter.test.tsx'
import './provider/chat-prop.test.tsx'
import './provider/hydration.test.tsx'
import './provider/chat-provider.test.tsx'
import './hooks/renders.test.tsx'
import './hooks/use-session.test.tsx'
import './hooks/use-structured.test.tsx'

test('all tests of this file use React 18', () => {
  expect([version, domVersion].map(text => text.split('.')[0])).toEqual(['18', '18'])
})
