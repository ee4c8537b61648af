import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'

/** The arrows: packages that each package may import, directly and transitively. There are no cycles. */
export const arrows: Record<string, string[]> = {
  protocol: [],
  dialects: ['protocol'],
  client: ['protocol', 'dialects'],
  react: ['client'],
  log: ['protocol'],
  runtime: ['log'],
  server: ['runtime', 'dialects'],
  millrace: ['server', 'client'],
  cli: ['server', 'client'],
}

/** Additional packages that the tests of a package may import: the other end of the wire. */
const opposites: Record<string, string[]> = { client: ['server'], react: ['server'] }

/** Packages that run in a browser, a worker and Node: no Node builtins, no code generated at run time. */
export const browserSafe = new Set(['protocol', 'dialects', 'client', 'react'])

/** Imports under `packages/` that violate the arrows, one line each. */
export function importViolations(root: string): string[] {
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).map(file => file.replaceAll('\\', '/'))
  return files.sort().flatMap(file => {
    const text = readFileSync(join(root, file), 'utf8')
    const wrong = importsOf(file, text).flatMap(specifier => refusal(file, specifier) ?? [])
    if (browserSafe.has(packageOf(file)) && !isTest(file) && /\beval\(|\bnew Function\(/.test(text)) {
      wrong.push('generates code at run time, which a browser-safe package must not do')
    }
    return wrong.map(reason => `${file}: ${reason}`)
  })
}

/** Reason to reject an import, or undefined. */
function refusal(file: string, specifier: string): string | undefined {
  const from = packageOf(file)
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier)
    if (isTest(target) && !isTest(file)) return `'${specifier}' is a test or a fixture, which is not published`
    const inside = target.startsWith(`packages/${from}/src/`) || (isTest(file) && target.startsWith('scripts/'))
    return inside ? undefined : `'${specifier}' leaves the package's src, import the other package by name`
  }
  if (isBuiltin(specifier)) {
    const allowed = !browserSafe.has(from) || isTest(file)
    return allowed ? undefined : `'${specifier}' is a builtin of Node, and ${from} is browser-safe`
  }
  const [, name, path = ''] = specifier.match(/^(@millrace\/[^/]+|millrace)(\/.*)?$/) ?? []
  if (name === undefined) return undefined
  const to = name.replace('@millrace/', '')
  if (to === from) return `'${specifier}' is this package itself, import the file`
  if (/^\/(src|dist)(\/|$)/.test(path))
    return `'${specifier}' reaches into the other package, import one of its exports`
  const isOpposite = isTest(file) && (opposites[from] ?? []).some(other => other === to || reach(other).has(to))
  return reach(from).has(to) || isOpposite
    ? undefined
    : `'${specifier}' goes against the arrows, ${from} may import ${list(from)}`
}

/** All packages that the arrows reach from a package. */
function reach(from: string): Set<string> {
  const direct = arrows[from] ?? []
  return new Set(direct.flatMap(to => [to, ...reach(to)]))
}

function list(from: string): string {
  return [...reach(from)].join(', ') || 'no other package'
}

/** Imports and re-exports of a file, types included, also `import('./a.ts').A` in a type. */
export function importsOf(file: string, text: string): string[] {
  const { module, program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const inTypes: string[] = []
  const visitor = new Visitor({
    TSImportType: ({ source }) => void inTypes.push(source.value),
    TSExternalModuleReference: ({ expression }) => void inTypes.push(expression.value),
  })
  // Only these two need the tree: most files have neither.
  if (/\bimport\s*\(|\brequire\s*\(/.test(text)) visitor.visit(program)
  return [
    ...inTypes,
    ...module.staticImports.map(statement => statement.moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap(entry => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
      text.slice(start, end).replace(/^['"`]|['"`]$/g, ''),
    ),
  ]
}

function packageOf(file: string): string {
  return file.split('/')[1] ?? ''
}

export function isTest(file: string): boolean {
  return /\.(test|fixture)\.tsx?$/.test(file)
}
