import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { importsOf, isTest } from './imports.ts'

/**
 * The folders of each package's `src`, from the bottom up. A folder may import the folders in the rows above it, in
 * this list, and none in its own row or below. Files directly in `src` are entry points: they import every folder,
 * and no folder imports them.
 */
export const layers: Record<string, string[][]> = {
  log: [
    ['store'],
    ['contract', 'stores/memory', 'stores/postgres', 'stores/redis', 'stores/sqlite', 'ticket'],
    ['read', 'stores', 'write'],
    ['compat', 'retention'],
    ['manager'],
  ],
  runtime: [
    ['error', 'async'],
    ['schema'],
    ['model'],
    ['telemetry'],
    ['define'],
    ['mcp', 'session'],
    ['execute'],
    ['execute/tool'],
    ['execute/agent', 'execute/replay'],
    ['execute/hooks'],
    ['execute/workflow'],
    ['drive'],
    ['api'],
  ],
  millrace: [],
  protocol: [
    ['error'],
    ['json'],
    ['catalogue'],
    ['entry', 'state', 'structured'],
    ['frame', 'lane', 'streams'],
    ['validate', 'fold'],
    ['wire', 'connection'],
  ],
  cli: [['error', 'terminal'], ['command'], ['source', 'show', 'convert'], ['dev'], ['doctor'], ['commands']],
  server: [
    ['errors'],
    ['http'],
    ['auth'],
    ['sessions'],
    ['stream'],
    ['routing'],
    ['runs'],
    ['routes', 'dialects/client-request'],
    ['dialects/run-stream'],
    ['dialects/ag-ui', 'dialects/ai-sdk', 'dialects/helix', 'dialects/kortyx', 'dialects/mui', 'dialects/tanstack'],
    ['dialects'],
    ['app'],
  ],
  client: [['error', 'notify', 'types'], ['connection', 'store', 'structured'], ['chat'], ['bridge', 'log']],
  dialects: [['dialect', 'http'], ['foreign-server'], ['ag-ui', 'ai-sdk', 'kortyx', 'mui'], ['helix', 'tanstack']],
  react: [['context'], ['hooks', 'provider'], ['log']],
}

/** Imports between folders of a package that violate its layers, and folders without a layer. */
export function layerViolations(root: string, rows: Record<string, string[][]> = layers): string[] {
  return Object.entries(rows).flatMap(([name, layersOfPackage]) => {
    const src = `packages/${name}/src`
    const files = globSync(`${src}/**/*.{ts,tsx}`, { cwd: root })
      .map(file => file.replaceAll('\\', '/'))
      .filter(file => !isTest(file))
      .sort()
    const used = new Set<string>()
    const found = files.flatMap(file => {
      const from = folderOf(file, src, layersOfPackage)
      if (from === undefined)
        return [`${file}: its folder is not in the layers of ${name}, add it to scripts/layers.ts`]
      used.add(from)
      return importsOf(file, readFileSync(join(root, file), 'utf8'))
        .filter(specifier => specifier.startsWith('.'))
        .flatMap(specifier => {
          const to = folderOf(posix.join(posix.dirname(file), specifier), src, layersOfPackage)
          return to === undefined || mayImport(from, to, layersOfPackage)
            ? []
            : [`${file}: '${specifier}' goes against the layers, ${from || 'src'} may not import ${to || 'src'}`]
        })
    })
    const unused = layersOfPackage.flat().filter(folder => !used.has(folder))
    return [...found, ...unused.map(folder => `${src}/${folder}: has a layer and no source file, remove the layer`)]
  })
}

function mayImport(from: string, to: string, rows: string[][]): boolean {
  if (from === to || from === '') return true
  const row = (folder: string) => rows.findIndex(folders => folders.includes(folder))
  return to !== '' && row(to) < row(from)
}

/** The listed folder of a file, the innermost if they nest; '' for a file directly in `src`. */
function folderOf(file: string, src: string, rows: string[][]): string | undefined {
  const folder = posix.relative(src, posix.dirname(file))
  if (folder === '') return ''
  const holders = rows.flat().filter(listed => folder === listed || folder.startsWith(`${listed}/`))
  return holders.sort((a, b) => b.length - a.length)[0]
}
