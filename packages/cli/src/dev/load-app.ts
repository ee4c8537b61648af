// Loads the app that a file exports.

import { existsSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { App, MillraceOptions } from '@millrace/server'

/** A file has no app to serve. The message is for the developer. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
}

/** Checks that the file does not listen on the port of the dev host itself. `listening` are the open ports of the process. @throws LoadError */
export function assertNotListening(file: string, port: number, listening: readonly number[]): void {
  if (port === 0 || !listening.includes(port)) return
  throw new LoadError(`${basename(file)} does not load: it listens on port ${port} itself.${LISTEN_HINT}`)
}

/** The app that a file exports as `app` or as default. @throws LoadError if there is none */
export async function loadApp(file: string): Promise<App> {
  const path = resolve(file)
  if (!existsSync(path)) throw new LoadError(`There is no file ${file}: check the path.`)
  let exported: { readonly app?: unknown; readonly default?: unknown }
  try {
    exported = await import(pathToFileURL(path).href)
  } catch (error) {
    throw new LoadError(loadFailureOf(error, file))
  }
  const found = [exported.app, exported.default].find(isApp)
  if (found) return found
  const name = basename(file)
  throw new LoadError(`${name} exports no app: write \`export const app = millrace({ agents })\` in it.`)
}

/** Checks the shape: the file may import another copy of the package, so `instanceof` does not work. */
const isApp = (value: unknown): value is App =>
  typeof value === 'object' && value !== null && 'node' in value && 'runtime' in value && 'options' in value

/** Creates an app with other options, by the file's own copy of the package: hooks work only within one copy. */
export const recreateApp = (app: App, options: MillraceOptions): App => Reflect.construct(app.constructor, [options])

/** The message of a load error and its location in the developer's code, without other stack frames. */
function loadFailureOf(error: unknown, file: string): string {
  const name = basename(file)
  if (!(error instanceof Error)) return `${name} does not load: it threw ${String(error)}`
  const hint = 'code' in error && error.code === 'EADDRINUSE' ? LISTEN_HINT : ''
  return `${name} does not load: ${error.name}: ${error.message}${locationOf(error)}${hint}`
}

const LISTEN_HINT =
  '\n  Remove the call of listen(): millrace dev loads the file in a server and a worker process, and listens itself.'

/** The first stack frame in the developer's code. */
function locationOf({ stack = '', message }: Error): string {
  const lines = stack.replace(message, '').split('\n')
  for (const line of lines) {
    const [, location] = /(file:\/\/\S+?:\d+(?::\d+)?)\)?$/.exec(line.trim()) ?? []
    if (location === undefined || location.includes('/node_modules/') || location.startsWith(THIS_FOLDER)) continue
    const [, url = '', rest = ''] = /^(.*?)((?::\d+)+)$/.exec(location) ?? []
    return `\n  at ${relative('', fileURLToPath(url))}${rest}`
  }
  return ''
}

const THIS_FOLDER = new URL('.', import.meta.url).href
