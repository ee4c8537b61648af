// `node scripts/api.ts [--check] [package]`: writes `packages/<name>/api/<entry>.api.md`, the public surface of each entry
// point, from the built declarations. With `--check` it fails when a committed report differs from the surface.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import { root } from './command.ts'
import { packages } from './manifests.ts'

const args = process.argv.slice(2)
const isCheck = args.includes('--check')
const [only] = args.filter(argument => !argument.startsWith('--'))

const silent = { default: { logLevel: ExtractorLogLevel.None } }
const temporary = mkdtempSync(join(tmpdir(), 'millrace-api-'))
const wrong: string[] = []
try {
  for (const { folder, manifest } of packages(root)) {
    if (only !== undefined && basename(folder) !== only) continue
    const reports = new Set<string>()
    for (const [path, target] of Object.entries(manifest.exports ?? {})) {
      // Siblings import `internal`; it is not part of the surface.
      if (typeof target === 'string' || target.types === undefined || path === './internal') continue
      const report = `${path === '.' ? 'index' : path.slice(2).replaceAll('/', '-')}.api.md`
      reports.add(report)
      if (isStale(folder, target.types, report)) wrong.push(`${folder}/api/${report}`)
    }
    wrong.push(...leftOver(folder, reports))
  }
} finally {
  rmSync(temporary, { recursive: true })
}
if (wrong.length > 0) {
  console.log(
    `${wrong.join('\n')}\nThese reports differ from the public surface: run node scripts/api.ts and commit them.`,
  )
  process.exitCode = 1
}

/** Compares the report of one entry point with its surface. Writes it unless this is a check. */
function isStale(folder: string, types: string, report: string): boolean {
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, folder, 'package.json'),
    configObject: {
      projectFolder: join(root, folder),
      mainEntryPointFilePath: join(root, folder, types),
      apiReport: {
        enabled: true,
        reportFileName: report,
        reportFolder: join(root, folder, 'api'),
        reportTempFolder: temporary,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2022',
            module: 'nodenext',
            moduleResolution: 'nodenext',
            skipLibCheck: true,
            types: ['node'],
            lib: ['esnext.disposable', 'es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
          },
        },
      },
      messages: {
        compilerMessageReporting: silent,
        extractorMessageReporting: silent,
        tsdocMessageReporting: silent,
      },
    },
  })
  if (!isCheck) mkdirSync(join(root, folder, 'api'), { recursive: true })
  const isMissing = !existsSync(join(root, folder, 'api', report))
  const { apiReportChanged, succeeded } = Extractor.invoke(config, {
    localBuild: !isCheck,
    messageCallback: message => {
      message.handled = true
    },
  })
  return isCheck && (isMissing || apiReportChanged || !succeeded)
}

/** Reports of entry points that are gone: removed, or named by a check. */
function leftOver(folder: string, reports: ReadonlySet<string>): string[] {
  const into = join(root, folder, 'api')
  const old = existsSync(into) ? readdirSync(into).filter(file => !reports.has(file)) : []
  if (!isCheck) for (const file of old) rmSync(join(into, file))
  return isCheck ? old.map(file => `${folder}/api/${file}`) : []
}
