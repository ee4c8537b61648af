// The file that a dev host serves: what it exports, and why it does not load.

import { existsSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { App, MillraceOptions } from '@millrace/server'

/** A file has no app to serve; the message says why, and is for who wrote the file. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
}

/** Throws where a file listens on the port that it is to be served on: `listening` are the ports that its process listens on by now. */
export function mustNotListen(file: string, port: number, listening: readonly number[]): void {
  if (port === 0 || !listening.includes(port)) return
  throw new LoadError(`${basename(file)} does not load: it listens on port ${port} itself.${LISTENS}`)
}

/** The app that a file exports, by the name `app` or as its default; throws a `LoadError` where there is none. */
export async function loadApp(file: string): Promise<App> {
  const path = resolve(file)
  if (!existsSync(path)) throw new LoadError(`There is no file ${file}.`)
  let exported: { readonly app?: unknown; readonly default?: unknown }
  try {
    exported = await import(pathToFileURL(path).href)
  } catch (error) {
    throw new LoadError(whyOf(error, file))
  }
  const found = [exported.app, exported.default].find(isApp)
  if (found) return found
  const name = basename(file)
  throw new LoadError(`${name} exports no app: write \`export const app = millrace({ agents })\` in it.`)
}

/** Made by whichever copy of the package the file imports: its class says nothing here. */
const isApp = (value: unknown): value is App =>
  typeof value === 'object' && value !== null && 'node' in value && 'runtime' in value && 'options' in value

/** Creates an app with other options, by the file's own copy of the package: hooks work only within one copy. */
export const recreateApp = (app: App, options: MillraceOptions): App => Reflect.construct(app.constructor, [options])

/** What the file's own code says is wrong, and where; none of the frames that led there. */
function whyOf(error: unknown, file: string): string {
  const name = basename(file)
  if (!(error instanceof Error)) return `${name} does not load: it threw ${String(error)}`
  const hint = 'code' in error && error.code === 'EADDRINUSE' ? LISTENS : ''
  return `${name} does not load: ${error.name}: ${error.message}${placeOf(error)}${hint}`
}

const LISTENS =
  '\n  A file for the dev host exports its app and does not listen itself: both the server and the worker load it.'

/** The place in somebody's own code at which an error came up. */
function placeOf({ stack = '', message }: Error): string {
  const lines = stack.replace(message, '').split('\n')
  for (const line of lines) {
    const [, place] = /(file:\/\/\S+?:\d+(?::\d+)?)\)?$/.exec(line.trim()) ?? []
    if (place === undefined || place.includes('/node_modules/') || place.startsWith(OURS)) continue
    const [, url = '', rest = ''] = /^(.*?)((?::\d+)+)$/.exec(place) ?? []
    return `\n  at ${relative('', fileURLToPath(url))}${rest}`
  }
  return ''
}

const OURS = new URL('.', import.meta.url).href
