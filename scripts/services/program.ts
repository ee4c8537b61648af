import { accessSync, constants, existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { command } from '../command.ts'

/** A program that tests need and npm does not provide: its commands, usual paths, and package names. */
export type Program = { name: string; commands: string[]; paths?: string[]; apt: string; brew: string }

/** Path of the program's executable. Installs it if possible. @throws if it is missing, so that no test is skipped. */
export async function findProgram(program: Program): Promise<string> {
  const existing = locate(program)
  if (existing) return existing
  if (!isDebianRoot()) throw new Error(`${program.name} is not installed, but tests need it. ${advice(program)}`)
  console.error(`${program.name} is not installed: apt-get install ${program.apt}`)
  const install = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', program.apt]
  // The package lists can be missing or old. They are fetched only if an install without them fails.
  if ((await apt(install)).code !== 0) await apt(['update'])
  const { code, output } = locate(program) ? { code: 0, output: '' } : await apt(install)
  const installed = locate(program)
  if (code === 0 && installed) return installed
  throw new Error(`${program.name} is not installed, and apt-get could not install ${program.apt}:\n${output}`)
}

function apt(args: string[]): ReturnType<typeof command> {
  return command('apt-get', args, { quiet: true, env: { DEBIAN_FRONTEND: 'noninteractive' } })
}

/** The first of its commands on the PATH, otherwise the newest in its usual paths. */
function locate({ commands, paths = [] }: Program): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  const onPath = commands.flatMap(name => folders.map(folder => join(folder, name)))
  const newestFirst = (a: string, b: string) => b.localeCompare(a, 'en', { numeric: true })
  return [...onPath, ...globSync(paths).sort(newestFirst)].find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isDebianRoot(): boolean {
  return existsSync('/etc/debian_version') && process.getuid?.() === 0
}

function advice({ apt, brew, commands }: Program): string {
  if (existsSync('/etc/debian_version')) return `Install it: sudo apt-get install ${apt}`
  if (process.platform === 'darwin') return `Install it: brew install ${brew}`
  return `Install it so that '${commands[0]}' is on the PATH.`
}
