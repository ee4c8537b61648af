import { describe, expect, test } from 'vitest'
import { folder } from './folder.fixture.ts'
import { arrows, browserSafe, importViolations } from './imports.ts'

/** Violations in one file with this text. */
function verdict(file: string, text: string): string[] {
  return importViolations(folder({ [`packages/${file}`]: text }))
}

describe('the arrows', () => {
  test('point at packages of the table and form no cycle', () => {
    for (const [from, targets] of Object.entries(arrows)) {
      const seen = new Set<string>()
      const queue = [...targets]
      for (const to of queue) {
        expect(arrows).toHaveProperty(to)
        expect(to, `${from} is part of a cycle`).not.toBe(from)
        if (!seen.has(to)) queue.push(...(arrows[to] ?? []))
        seen.add(to)
      }
    }
  })

  test('a browser-safe package reaches only browser-safe packages', () => {
    for (const name of browserSafe) expect(arrows[name]?.filter(to => !browserSafe.has(to))).toEqual([])
  })

  test.each([
    ['import', "import { a } from '@millrace/log'"],
    ['import of a type', "import type { A } from '@millrace/log'"],
    ['import for its effect', "import '@millrace/log'"],
    ['import of a part', "import { a } from '@millrace/log/memory'"],
    ['re-export', "export { a } from '@millrace/log'"],
    ['re-export of all', "export * from '@millrace/log'"],
    ['dynamic import', "export const a = await import('@millrace/log')"],
    ['import inside a type', "export type A = import('@millrace/log').A"],
    ['import of the type of a module', "export type A = typeof import('@millrace/log')"],
  ])('reject an %s against their direction', (_, text) => {
    expect(verdict('protocol/src/a.ts', text)).toEqual([
      expect.stringMatching(/^packages\/protocol\/src\/a\.ts: '@millrace\/log.*' goes against the arrows/),
    ])
  })

  test('apply to tests', () => {
    expect(verdict('log/src/a.test.ts', "import { a } from '@millrace/runtime'")).toHaveLength(1)
    expect(verdict('log/src/a.ts', "import { a } from 'millrace'")).toHaveLength(1)
  })

  test('allow packages that they reach, also transitively', () => {
    expect(verdict('server/src/a.ts', "import '@millrace/runtime'; import '@millrace/protocol/schemas'")).toEqual([])
    expect(verdict('react/src/a.tsx', "import '@millrace/client'; import '@millrace/protocol'")).toEqual([])
    expect(verdict('millrace/src/a.ts', "import '@millrace/client'; import '@millrace/log'")).toEqual([])
  })

  test('ignore third-party packages, strings and comments', () => {
    expect(
      verdict('protocol/src/a.ts', "import 'zod' // import '@millrace/log'\nexport const a = \"from 'node:fs'\""),
    ).toEqual([])
  })
})

describe('a browser-safe package', () => {
  test.each([
    "import fs from 'node:fs'",
    "import fs from 'fs'",
    "import fs from 'fs/promises'",
    "import 'node:sqlite'",
  ])('must not import Node builtins: %s', text => {
    expect(verdict('client/src/a.ts', text)).toEqual([expect.stringContaining('is a builtin of Node')])
    expect(verdict('log/src/a.ts', text)).toEqual([])
    expect(verdict('client/src/a.test.ts', text)).toEqual([])
    expect(verdict('client/src/a.fixture.ts', text)).toEqual([])
  })

  test.each(["eval('1')", "new Function('return 1')"])('must not generate code: %s', text => {
    expect(verdict('protocol/src/a.ts', `export const a = ${text}`)).toEqual([
      expect.stringContaining('generates code'),
    ])
  })
})

describe('the src of another package', () => {
  test.each(['@millrace/protocol/src/error.ts', '@millrace/protocol/dist/error.js', '../../protocol/src/error.ts'])(
    'must not be imported: %s',
    specifier => {
      expect(verdict('log/src/a.ts', `import '${specifier}'`)).toHaveLength(1)
    },
  )

  test('tests can import scripts/, sources cannot', () => {
    expect(verdict('log/src/a.test.ts', "import '../../../scripts/services/redis.ts'")).toEqual([])
    expect(verdict('log/src/a.ts', "import '../../../scripts/services/redis.ts'")).toHaveLength(1)
  })

  test.each(['./b.test.ts', './b.fixture.ts', '../b/b.fixture.tsx'])('sources cannot import %s', specifier => {
    expect(verdict('log/src/a/a.ts', `import '${specifier}'`)).toEqual([expect.stringContaining('is not published')])
    expect(verdict('log/src/a/a.fixture.ts', `import '${specifier}'`)).toEqual([])
  })

  test('a package does not import itself by name', () => {
    expect(verdict('log/src/a.ts', "import '@millrace/log'")).toHaveLength(1)
  })
})
