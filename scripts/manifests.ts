import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { arrows } from './imports.ts'

type Conditions = { types?: string; default?: string }
type Manifest = {
  name?: string
  version?: string
  description?: string
  keywords?: string[]
  private?: boolean
  license?: string
  type?: string
  sideEffects?: boolean
  engines?: { node?: string }
  files?: string[]
  scripts?: Record<string, string>
  peerDependencies?: Record<string, string>
  exports?: Record<string, string | Conditions>
}

/** Node versions that the packages support. */
const ENGINE = '>=22.18'

/** A publishable package: its folder, relative to the root, and its manifest. */
export type Package = { folder: string; manifest: Manifest }

/** The packages under `packages/`. */
export function packages(root: string): Package[] {
  const files = globSync('packages/*/package.json', { cwd: root }).sort()
  return files.map(file => ({ folder: dirname(file), manifest: JSON.parse(readFileSync(join(root, file), 'utf8')) }))
}

/** Import specifiers of a package: `['@millrace/protocol', '@millrace/protocol/schemas']`. */
export function entryPoints({ manifest }: Package): string[] {
  const paths = Object.entries(manifest.exports ?? {}).filter(([, target]) => typeof target !== 'string')
  return paths.map(([path]) => `${manifest.name}${path.slice(1)}`)
}

/** Violations of the common rules for manifests, one line each. */
export function manifestViolations(root: string): string[] {
  return packages(root).flatMap(pkg => violations(root, pkg).map(reason => `${pkg.folder}: ${reason}`))
}

function violations(root: string, { folder, manifest }: Package): string[] {
  const short = basename(folder)
  const name = short === 'millrace' ? short : `@millrace/${short}`
  const shipped = manifest.files ?? []
  const rules: [kept: boolean, reason: string][] = [
    [short in arrows, `no arrows for it: add '${short}' to the table in scripts/imports.ts`],
    [manifest.name === name, `its name must be '${name}', found '${manifest.name}'`],
    [Boolean(manifest.description?.endsWith('.')), `"description" must be a sentence that ends with a full stop`],
    [Boolean(manifest.keywords?.includes('millrace')), `"keywords" must include "millrace"`],
    [manifest.license === 'MIT', `"license" must be "MIT"`],
    [manifest.type === 'module', `"type" must be "module"`],
    [manifest.sideEffects === false, `"sideEffects" must be false`],
    [manifest.engines?.node === ENGINE, `"engines" must be { "node": "${ENGINE}" }`],
    [existsSync(join(root, folder, 'README.md')), 'a README.md is missing'],
    [manifest.exports?.['.'] !== undefined, `"exports" must have "."`],
    ...unshipped(root, folder).map((pattern): [boolean, string] => [
      !shipped.includes('src') || shipped.includes(pattern),
      `"files" must leave out "${pattern}"`,
    ]),
    ...Object.entries(manifest.exports ?? {}).map(([path, target]): [boolean, string] => [
      path === './package.json' || (typeof target !== 'string' && Boolean(target.types && target.default)),
      `"exports" of '${path}' must have "types" and "default"`,
    ]),
  ]
  return rules.filter(([kept]) => !kept).map(([, reason]) => reason)
}

/** Patterns of "files" that exclude tests and fixtures of a package. */
function unshipped(root: string, folder: string): string[] {
  const ends = globSync('src/**/*.tsx', { cwd: join(root, folder) }).length > 0 ? ['ts', 'tsx'] : ['ts']
  return ends.flatMap(end => ['test', 'fixture'].map(kind => `!src/**/*.${kind}.${end}`))
}
