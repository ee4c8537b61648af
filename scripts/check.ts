// `npm run check [-- name...]`: all static checks, or those whose names begin with one of the given names, such as `types sizes`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command, root, seconds } from './command.ts'
import { generators } from './generators.ts'
import { importViolations } from './imports.ts'
import { layerViolations } from './layers.ts'
import { manifestViolations, packages } from './manifests.ts'
import { tarballs } from './tarball.ts'
import { repeatedTypeNames } from './type-names.ts'

/** Result of a check. Its output is shown if it failed, or if `always` is set. */
type Finding = { code: number; output: string; always?: boolean }

const checks: Record<string, () => Promise<Finding>> = {
  types: () => tool('tsc', '-b', ...packages(root).map(({ folder }) => folder)),
  'types of tests': () => tool('tsc', '-p', 'tsconfig.json'),
  'lint and format': () => tool('biome', 'check', '--error-on-warnings', '.'),
  imports: async () => none(importViolations(root)),
  layers: async () => none(layerViolations(root)),
  'type names': async () => none(repeatedTypeNames(root)),
  manifests: async () => none(manifestViolations(root)),
  'dead code': () => tool('knip'),
  tarballs: checkTarballs,
  sizes: async () => ({ ...(await tool('size-limit')), always: true }),
  ...Object.fromEntries(generators.map(file => [`${file} is fresh`, () => tool('node', file, '--check')])),
}

const prefixes = process.argv.slice(2)
const unknown = prefixes.find(prefix => !Object.keys(checks).some(name => name.startsWith(prefix)))
if (unknown !== undefined) {
  console.error(
    `check: expected the beginning of a check's name, found '${unknown}'. Checks: ${Object.keys(checks).join(', ')}`,
  )
  process.exit(1)
}
const chosen = Object.entries(checks).filter(
  ([name]) => prefixes.length === 0 || prefixes.some(prefix => name.startsWith(prefix)),
)

let failed = false
for (const [name, run] of chosen) {
  const from = performance.now()
  const { code, output, always } = await run().catch((error): Finding => ({ code: 1, output: String(error) }))
  failed ||= code !== 0
  if (code !== 0 || always) console.log(output.trimEnd())
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(32)} ${seconds(performance.now() - from).padStart(7)}`)
}
process.exitCode = failed ? 1 : 0

function tool(name: string, ...args: string[]): Promise<Finding> {
  return command(name, args, { quiet: true })
}

function none(violations: string[]): Finding {
  return { code: violations.length, output: violations.join('\n') }
}

/** Checks that all entry points of the packed packages resolve, with their types. */
async function checkTarballs(): Promise<Finding> {
  const into = mkdtempSync(join(tmpdir(), 'millrace-tarballs-'))
  try {
    const findings: Finding[] = []
    for (const { file } of await tarballs(into)) {
      findings.push(await tool('publint', 'run', '--strict', file))
      findings.push(await tool('attw', '--profile', 'esm-only', '--no-emoji', file))
    }
    const bad = findings.filter(finding => finding.code !== 0)
    return { code: bad.length, output: bad.map(finding => finding.output).join('\n') }
  } finally {
    rmSync(into, { recursive: true, force: true })
  }
}
