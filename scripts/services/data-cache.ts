import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Copies a folder to a path that does not exist. Returns whether it succeeded. */
type CopyFolder = (from: string, to: string) => Promise<boolean>

/**
 * Cache of a folder that is expensive to create. It is written to a temporary path and renamed, so
 * several processes can use it at once, and a killed one leaves no partial cache.
 */
export class DataCache {
  readonly #path: string
  readonly #copy: CopyFolder

  constructor(path: string, copy: CopyFolder) {
    this.#path = path
    this.#copy = copy
  }

  /** Replaces the folder `data` by a copy of the cached one. Returns false when there is none that is complete. */
  async copyTo(data: string): Promise<boolean> {
    if (!this.#isComplete()) return false
    rmSync(data, { recursive: true })
    if (await this.#copy(join(this.#path, 'data'), data)) return true
    rmSync(data, { recursive: true, force: true })
    return false
  }

  /** Keeps a copy of `data` for the next process. */
  async keep(data: string): Promise<void> {
    mkdirSync(dirname(this.#path), { recursive: true })
    const temporary = `${this.#path}-${randomUUID()}`
    mkdirSync(temporary)
    try {
      if (!(await this.#copy(data, join(temporary, 'data')))) return
      writeFileSync(join(temporary, 'size'), sizeOf(temporary))
      if (existsSync(this.#path) && !this.#isComplete()) {
        const broken = `${temporary}-broken`
        renameSync(this.#path, broken)
        rmSync(broken, { recursive: true, force: true })
      }
      renameSync(temporary, this.#path)
    } catch {
      // Another process was faster, or the cache is not writable. The data folder itself is complete.
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  }

  #isComplete(): boolean {
    try {
      return readFileSync(join(this.#path, 'size'), 'utf8') === sizeOf(this.#path)
    } catch {
      return false
    }
  }
}

/** Number of files and their bytes. */
function sizeOf(path: string): string {
  const files = readdirSync(join(path, 'data'), { recursive: true, withFileTypes: true }).filter(entry =>
    entry.isFile(),
  )
  const bytes = files.map(file => statSync(join(file.parentPath, file.name)).size)
  return `${files.length} files, ${bytes.reduce((a, b) => a + b, 0)} bytes`
}
