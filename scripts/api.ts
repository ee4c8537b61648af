// `node scripts/api.ts [--check]`: writes `packages/<name>/api/<entry>.api.md`, the public surface of each entry point, and
// `docs/reference/api/<page>.md`, the API reference, from the built declarations. With `--check` it fails when a committed
// file differs, or when a part of the surface that needs a doc comment or a default has none.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import { commentGaps, defaultGaps } from './api-gaps.ts'
import { type ApiEntry, type ApiItem, nameOf, withInherited } from './api-model.ts'
import { type ApiPage, apiPages } from './api-pages.ts'
import { root } from './command.ts'
import { packages } from './manifests.ts'

/** An entry point, with its declarations as an absolute path and the file name of its report. */
type Entry = { folder: string; package: string; path: string; types: string; report: string }

const isCheck = process.argv.includes('--check')
const quietMessages = { default: { logLevel: ExtractorLogLevel.None } }
const pagesFolder = 'docs/reference/api'

const published = packages(root)
const entries: Entry[] = published.flatMap(({ folder, manifest }) =>
  Object.entries(manifest.exports ?? {}).flatMap(([path, target]) => {
    // Siblings import `internal`; it is not part of the surface.
    if (typeof target === 'string' || target.types === undefined || path === './internal') return []
    const report = `${path === '.' ? 'index' : path.slice(2).replaceAll('/', '-')}.api.md`
    return [{ folder, package: manifest.name ?? '', path, types: join(root, folder, target.types), report }]
  }),
)

const temporary = mkdtempSync(join(tmpdir(), 'millrace-api-'))
try {
  const { surface: own, stale } = extract()
  const surface = withInherited(own)
  const gaps = commentGaps(surface)
  const withoutDefault = defaultGaps(surface)
  const wrong = [...stale, ...stalePages(apiPages(pagesOf(surface)))]
  if (wrong.length > 0) console.log(`${wrong.join('\n')}\nThese files are stale: run npm run generate and commit them.`)
  if (gaps.length > 0)
    console.log(`${gaps.join('\n')}\nThese ${gaps.length} need a doc comment: scripts/api-gaps.ts has the rule.`)
  if (withoutDefault.length > 0)
    console.log(
      `${withoutDefault.join('\n')}\nThese ${withoutDefault.length} options need a @default in their comment.`,
    )
  if (wrong.length + gaps.length + withoutDefault.length > 0) process.exitCode = 1
} finally {
  rmSync(temporary, { recursive: true })
}

/** Runs API Extractor once per entry point, for its report and its model. Returns the reports that are stale. */
function extract(): { surface: ApiEntry[]; stale: string[] } {
  const stale: string[] = []
  const surface: ApiEntry[] = []
  let compilerState: CompilerState | undefined
  for (const entry of entries) {
    const { folder, report } = entry
    const model = join(temporary, 'model.api.json')
    const config = configOf(entry, model)
    // One program for all entry points: parsing the declarations takes most of the time.
    compilerState ??= CompilerState.create(config)
    const place = join(root, folder, 'api', report)
    if (!isCheck) mkdirSync(join(root, folder, 'api'), { recursive: true })
    const isMissing = !existsSync(place)
    const { apiReportChanged, succeeded } = Extractor.invoke(config, {
      localBuild: !isCheck,
      compilerState,
      messageCallback: message => {
        message.handled = true
      },
    })
    if (isCheck && (isMissing || apiReportChanged || !succeeded)) stale.push(`${folder}/api/${report}`)
    const [{ members }] = JSON.parse(readFileSync(model, 'utf8')).members as [{ members: ApiItem[] }]
    const isExported = ({ canonicalReference }: ApiItem) => !canonicalReference.includes('!~')
    const source = (item: ApiItem) => declarationOf(folder, item)
    surface.push({
      package: entry.package,
      path: entry.path,
      items: members.filter(isExported),
      internals: members.filter(item => !isExported(item)),
      report: readFileSync(join(temporary, report), 'utf8'),
      source,
    })
  }
  for (const { folder } of published) {
    const reports = entries.filter(entry => entry.folder === folder).map(({ report }) => report)
    stale.push(...leftOver(`${folder}/api`, reports))
  }
  // What another entry point of the package exports is no internal.
  const isPublic = ({ package: name }: ApiEntry, { fileUrlPath, name: own }: ApiItem) =>
    surface.some(
      other =>
        other.package === name && other.items.some(item => item.fileUrlPath === fileUrlPath && item.name === own),
    )
  return {
    surface: surface.map(entry => ({
      ...entry,
      internals: entry.internals?.filter(item => !isPublic(entry, item)) ?? [],
    })),
    stale,
  }
}

function configOf({ folder, types, report }: Entry, model: string): ExtractorConfig {
  return ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, folder, 'package.json'),
    configObject: {
      projectFolder: join(root, folder),
      mainEntryPointFilePath: types,
      apiReport: {
        enabled: true,
        reportFileName: report,
        reportFolder: join(root, folder, 'api'),
        reportTempFolder: temporary,
      },
      docModel: { enabled: true, apiJsonFilePath: model, includeForgottenExports: true },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          files: entries.map(entry => entry.types),
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
        compilerMessageReporting: quietMessages,
        extractorMessageReporting: quietMessages,
        tsdocMessageReporting: quietMessages,
      },
    },
  })
}

/**
 * The text of a type or a constant in the built declarations. The model leaves out the comments inside it.
 * The compiler indents all but the first and the last line.
 */
function declarationOf(folder: string, { kind, fileUrlPath = '', ...item }: ApiItem): string | undefined {
  const keyword = { TypeAlias: 'type', Variable: 'declare const' }[kind]
  const file = join(root, folder, fileUrlPath.replace(/^src\//, 'dist/').replace(/\.tsx?$/, '.d.ts'))
  if (keyword === undefined || !existsSync(file)) return undefined
  const start = `export ${keyword} ${nameOf({ kind, ...item })}`
  const lines = readFileSync(file, 'utf8').split('\n')
  const from = lines.findIndex(line => line.startsWith(start) && /^\W/.test(line.slice(start.length)))
  const to = lines.findIndex((line, index) => index >= from && /^\S.*;$|^;$/.test(line))
  return from === -1 || to === -1 ? undefined : lines.slice(from, to + 1).join('\n')
}

/** One page for each package; each format of the dialects has its own, because their names repeat. */
function pagesOf(surface: readonly ApiEntry[]): ApiPage[] {
  return published.flatMap(({ folder, manifest }) => {
    const own = surface.filter(entry => entry.package === manifest.name)
    const isFormat = (path: string) => own.some(entry => entry.path === `${path}/schemas`) && path !== '.'
    const formats = own.filter(({ path }) => isFormat(path))
    const name = basename(folder)
    const rest = own.filter(({ path }) => !formats.some(format => path.startsWith(format.path)))
    return [
      { name, about: aboutOf(manifest.name ?? '', name, formats), entries: rest },
      ...formats.map(format => ({
        name: `${name}-${format.path.slice(2)}`,
        about: `Part of [@millrace/${name}](../../../packages/${name}). Types of the format have the fields and the meaning that its own documentation gives them.`,
        entries: own.filter(({ path }) => path.startsWith(format.path)),
      })),
    ]
  })
}

function aboutOf(name: string, folder: string, formats: readonly ApiEntry[]): string {
  const links = formats.map(({ path }) => `[${path.slice(2)}](${folder}-${path.slice(2)}.md)`)
  const about = `Every public name of [${name}](../../../packages/${folder}).`
  return links.length === 0 ? about : `${about} The formats have pages of their own: ${links.join(', ')}.`
}

/** Writes the pages. A check returns those that differ. */
function stalePages(pages: ReadonlyMap<string, string>): string[] {
  const stale = [...pages].flatMap(([name, text]) => {
    const file = `${pagesFolder}/${name}.md`
    const place = join(root, file)
    if (isCheck) return existsSync(place) && readFileSync(place, 'utf8') === text ? [] : [file]
    mkdirSync(join(root, pagesFolder), { recursive: true })
    writeFileSync(place, text)
    return []
  })
  return [
    ...stale,
    ...leftOver(
      pagesFolder,
      [...pages.keys()].map(name => `${name}.md`),
    ),
  ]
}

/** Files in a folder that are no longer generated: removed, or named by a check. */
function leftOver(folder: string, generated: readonly string[]): string[] {
  const into = join(root, folder)
  const old = existsSync(into) ? readdirSync(into).filter(file => !generated.includes(file)) : []
  if (!isCheck) for (const file of old) rmSync(join(into, file))
  return isCheck ? old.map(file => `${folder}/${file}`) : []
}
