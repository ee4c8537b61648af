import { expect, test } from 'vitest'
import { folder } from './folder.fixture.ts'
import { repeatedTypeNames } from './type-names.ts'

test('lists types that two files of a package define', () => {
  const root = folder({
    'packages/log/src/a.ts': 'export type A = 1\ninterface B { a: 1 }\nexport class C {}\nexport type Own = 1',
    'packages/log/src/b.ts': 'type A = 2\nexport interface B { b: 1 }\nclass C {}\nexport { C as D }',
    'packages/log/src/c.test.ts': 'type Own = 2',
    'packages/runtime/src/a.ts': 'export type Own = 3',
  })
  expect(repeatedTypeNames(root, ['log', 'runtime'])).toEqual(
    ['A', 'B', 'C'].map(name => `${name}: packages/log/src/a.ts, packages/log/src/b.ts`),
  )
})
