import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { importsOf, isTest } from './imports.ts'

/**
 * The folders of each package's `src`, from the bottom up. A folder may import the folders in the rows above it, in
 * this list, and none in its own row or below. Every folder with source files has its own place in the list, also a
 * folder inside another. A file that is listed by its path has its own place instead of its folder's: a format's
 * `types.ts` is below the folders inside the format, and its encoder is above them. Files directly in `src` are entry points: they import every folder, no folder imports them, and
 * the package's `exports` or `bin` names them.
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
  dialects: [
    ['dialect', 'http'],
    ['foreign-server'],
    ['ag-ui/types.ts', 'ai-sdk/types.ts', 'helix/types.ts', 'kortyx/types.ts', 'mui/types.ts', 'tanstack/types.ts'],
    ['ag-ui/events', 'ai-sdk/events', 'helix/events', 'kortyx/events', 'mui/events', 'tanstack/events'],
    ['ag-ui/messages', 'ai-sdk/messages', 'mui/messages'],
    ['ag-ui/encode', 'ag-ui/decode', 'ai-sdk/encode', 'kortyx/encode', 'ai-sdk/decoder.ts', 'mui/decoder.ts'],
    ['ag-ui/client', 'ai-sdk/client', 'mui/client'],
    ['ag-ui', 'ai-sdk', 'kortyx', 'mui'],
    ['helix/messages', 'tanstack/encode'],
    ['tanstack/messages'],
    ['helix', 'tanstack'],
  ],
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
    const manifest = readFileSync(join(root, `packages/${name}/package.json`), 'utf8')
    const used = new Set<string>()
    const found = files.flatMap(file => {
      const from = placeOf(file, src, layersOfPackage)
      if (from === undefined)
        return [`${file}: its folder is not in the layers of ${name}, add it to scripts/layers.ts`]
      if (from === '' && !isEntryPoint(posix.basename(file), manifest))
        return [`${file}: is neither in the exports nor in the bin of ${name}, move it into a folder`]
      used.add(from)
      return importsOf(file, readFileSync(join(root, file), 'utf8'))
        .filter(specifier => specifier.startsWith('.'))
        .flatMap(specifier => {
          const to = placeOf(posix.join(posix.dirname(file), specifier), src, layersOfPackage)
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

/** The place of a file: its path if that is listed, else its folder. '' for a file directly in `src`, undefined if the folder is not listed. */
function placeOf(file: string, src: string, rows: string[][]): string | undefined {
  const path = posix.relative(src, file)
  if (rows.some(places => places.includes(path))) return path
  const folder = posix.dirname(path) === '.' ? '' : posix.dirname(path)
  return folder === '' || rows.some(folders => folders.includes(folder)) ? folder : undefined
}

/** Whether `exports` or `bin` of a package.json names a file of `src`, as source or as built. */
function isEntryPoint(file: string, manifest: string): boolean {
  const built = file.replace(/\.tsx?$/, '.js')
  return [`./src/${file}`, `./dist/${built}`].some(path => manifest.includes(`"${path}"`))
}
