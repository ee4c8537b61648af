// A folder that is watched for changes of code.

import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join, relative } from 'node:path'

/** How long it stays quiet before a change is told, in milliseconds: an editor writes a file in several goes. */
const QUIET_MS = 100
/** Nobody's source has more folders; what is below others is not watched. */
const MOST_FOLDERS = 1_000
/** An app may write what it likes beside its code, its store and other data included: that is no change of code. */
const CODE = /\.[cm]?[jt]sx?$|^package\.json$/

const isLeftOut = (name: string): boolean => name.startsWith('.') || name === 'node_modules' || name === 'dist'

/** Watches a folder and all below it, but for what is installed, built or hidden. */
export class Watcher {
  readonly #root: string
  readonly #changed: (file: string) => void
  readonly #watched = new Map<string, FSWatcher>()
  #quiet: NodeJS.Timeout | undefined

  constructor(root: string, changed: (file: string) => void) {
    this.#root = root
    this.#changed = changed
    this.#watch(root)
  }

  /** Whether something has changed that is not told yet. */
  get isPending(): boolean {
    return this.#quiet !== undefined
  }

  /** Whether there is anything to watch: the folder may have been removed. */
  get isWatching(): boolean {
    return this.#watched.size > 0
  }

  close(): void {
    clearTimeout(this.#quiet)
    for (const watcher of this.#watched.values()) watcher.close()
    this.#watched.clear()
  }

  #watch(folder: string): void {
    if (this.#watched.has(folder) || this.#watched.size >= MOST_FOLDERS) return
    try {
      const watcher = watch(folder, (_, name) => name !== null && this.#seen(folder, name))
      // A folder that is removed is no longer there to be watched.
      watcher.on('error', () => this.#leave(folder))
      this.#watched.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !isLeftOut(entry.name)) this.#watch(join(folder, entry.name))
      }
    } catch {
      this.#leave(folder)
    }
  }

  #leave(folder: string): void {
    this.#watched.get(folder)?.close()
    this.#watched.delete(folder)
  }

  #seen(folder: string, name: string): void {
    const path = join(folder, name)
    if (CODE.test(name)) {
      clearTimeout(this.#quiet)
      this.#quiet = setTimeout(() => {
        this.#quiet = undefined
        this.#changed(relative(this.#root, path))
      }, QUIET_MS)
    } else if (!isLeftOut(name)) this.#watchNew(path)
  }

  /** A folder that was made, or moved here, comes with what is in it. */
  #watchNew(path: string): void {
    const before = this.#watched.size
    try {
      readdirSync(path)
    } catch {
      this.#leave(path)
      return
    }
    this.#watch(path)
    if (this.#watched.size === before) return
    const code = readdirSync(path).find(name => CODE.test(name))
    if (code !== undefined) this.#seen(path, code)
  }
}
