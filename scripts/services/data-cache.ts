import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Copies a folder to a path that does not exist, and tells whether that went well. */
type CopyFolder = (from: string, to: string) => Promise<boolean>

/**
 * A folder that was expensive to make, kept for the next process that needs the same. It is written aside and moved into place, so
 * several processes may use it at once, and one that is killed leaves no half of it in place.
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
    const aside = `${this.#path}-${randomUUID()}`
    mkdirSync(aside)
    try {
      if (!(await this.#copy(data, join(aside, 'data')))) return
      writeFileSync(join(aside, 'size'), sizeOf(aside))
      if (existsSync(this.#path) && !this.#isComplete()) {
        const broken = `${aside}-broken`
        renameSync(this.#path, broken)
        rmSync(broken, { recursive: true, force: true })
      }
      renameSync(aside, this.#path)
    } catch {
      // Another process was faster, or the cache cannot be written. The data are there all the same.
    } finally {
      rmSync(aside, { recursive: true, force: true })
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
