// Watches a folder for code changes.

import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join, relative } from 'node:path'

/** The debounce of changes, in ms: an editor writes a file in several steps. */
const DEBOUNCE_MS = 100
/** The maximum number of watched folders. Further folders are ignored. */
const MAX_FOLDERS = 1_000
/** Only code files count: an app may write its store and other data next to its code. */
const CODE = /\.[cm]?[jt]sx?$|^package\.json$/

const isIgnored = (name: string): boolean => name.startsWith('.') || name === 'node_modules' || name === 'dist'

/** Watches a folder recursively, except installed, built and hidden folders. */
export class Watcher {
  readonly #root: string
  readonly #onChange: (file: string) => void
  readonly #watched = new Map<string, FSWatcher>()
  #debounce: NodeJS.Timeout | undefined

  constructor(root: string, onChange: (file: string) => void) {
    this.#root = root
    this.#onChange = onChange
    this.#watch(root)
  }

  /** Whether a change waits for the debounce. */
  get isPending(): boolean {
    return this.#debounce !== undefined
  }

  /** Whether any folder is watched. The root may have been removed. */
  get isWatching(): boolean {
    return this.#watched.size > 0
  }

  close(): void {
    clearTimeout(this.#debounce)
    for (const watcher of this.#watched.values()) watcher.close()
    this.#watched.clear()
  }

  #watch(folder: string): void {
    if (this.#watched.has(folder) || this.#watched.size >= MAX_FOLDERS) return
    try {
      const watcher = watch(folder, (_, name) => name !== null && this.#onFileEvent(folder, name))
      // The folder was removed.
      watcher.on('error', () => this.#unwatch(folder))
      this.#watched.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !isIgnored(entry.name)) this.#watch(join(folder, entry.name))
      }
    } catch {
      this.#unwatch(folder)
    }
  }

  #unwatch(folder: string): void {
    this.#watched.get(folder)?.close()
    this.#watched.delete(folder)
  }

  #onFileEvent(folder: string, name: string): void {
    const path = join(folder, name)
    if (CODE.test(name)) {
      clearTimeout(this.#debounce)
      this.#debounce = setTimeout(() => {
        this.#debounce = undefined
        this.#onChange(relative(this.#root, path))
      }, DEBOUNCE_MS)
    } else if (!isIgnored(name)) this.#watchNew(path)
  }

  /** Watches a new folder with its subfolders, and reports one code file in it. Stops watching a folder that was removed. */
  #watchNew(path: string): void {
    const before = this.#watched.size
    try {
      readdirSync(path)
    } catch {
      this.#unwatch(path)
      return
    }
    this.#watch(path)
    if (this.#watched.size === before) return
    const code = readdirSync(path).find(name => CODE.test(name))
    if (code !== undefined) this.#onFileEvent(path, code)
  }
}
