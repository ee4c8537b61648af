import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Block, blocksOf } from '../docs/site/markdown.ts'
import { pageAt } from '../docs/site/pages.ts'
import { textOf } from '../docs/site/stage.ts'
import { root } from './command.ts'
import { compileCache } from './compile-cache.ts'
import { linkPackages } from './link-packages.ts'

const SOURCE = '--conditions=@millrace/source'

/** A page of the site whose named code blocks are the files of a project, and whose shell blocks set it up and run it. */
export interface PageProject {
  readonly files: readonly Block[]
  /** Every command of the page, in order. */
  readonly commands: readonly string[]
}

/** The project of the page at a path of the site. */
export function pageProjectOf(path: string): PageProject {
  const blocks = blocksOf(textOf(pageAt(path)))
  const scripts = blocks.filter(({ language }) => language === 'sh')
  return {
    files: blocks.filter(({ name }) => name !== ''),
    commands: scripts.flatMap(({ code }) => code.trim().split('\n')).flatMap(line => line.split(' && ')),
  }
}

/** Writes the files of a page into a folder, and runs its commands that bundle the page or write a file. */
export function writeProject({ files, commands }: PageProject, folder: string): void {
  linkPackages(join(folder, 'node_modules'))
  for (const { name, code } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), code)
  }
  const bundle = commands.find(line => line.startsWith('npx esbuild '))
  if (bundle === undefined) throw new Error('The page has no command that starts with npx esbuild')
  const args = [...bundle.split(' ').slice(2), SOURCE, '--define:process.env.NODE_ENV="development"']
  execFileSync(join(root, 'node_modules/.bin/esbuild'), [...args, '--log-level=warning'], { cwd: folder })
  for (const line of commands.filter(each => each.startsWith('echo ')))
    execFileSync('sh', ['-c', line], { cwd: folder })
}

export interface RunningProgram {
  readonly child: ChildProcess
  readonly url: string
  /** The lines that the process has printed so far. */
  readonly lines: readonly string[]
}

/** Starts a program in the folder and waits for its first line, which has its address. */
export async function startProgram(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  onLine: (line: string) => void = () => {},
): Promise<RunningProgram> {
  const child = spawn(process.execPath, [SOURCE, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...compileCache, ...env },
  })
  const lines: string[] = []
  const output = createInterface(child.stdout)
  output.on('line', line => {
    lines.push(line)
    onLine(line)
  })
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`node ${args.join(' ')} exited with ${code} before it printed its address`)
  })
  const [line] = await Promise.race([once(output, 'line'), failed])
  failed.catch(() => {})
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(line)) ?? []
  if (url === undefined) throw new Error(`Expected an address in the first line, found: ${line}`)
  return { child, url, lines }
}
