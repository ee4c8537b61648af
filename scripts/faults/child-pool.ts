import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { type Child, startChildProcess } from './process.ts'

/** Pool of started child processes, because starting one takes longer than most tests. A process that was not killed is reused. */
export class ChildPool<Pooled extends Pick<Child, 'kill9'> = Child> {
  readonly #size: number
  readonly #wrap: (child: Child) => Pooled
  readonly #args: readonly string[]
  readonly #ready: Pooled[] = []
  // Most of the start time is resolving and compiling code that earlier processes have compiled already.
  readonly #folder = mkdtempSync(join(tmpdir(), 'millrace-compiled-'))

  /** Starts `size` processes of the file `process`. The other files are in the same folder. `wrap` wraps each process. */
  constructor(
    files: Readonly<Record<'process', string>> & Readonly<Record<string, string>>,
    { size, args = [], wrap }: { size: number; args?: readonly string[]; wrap: (child: Child) => Pooled },
  ) {
    this.#size = size
    this.#wrap = wrap
    this.#args = args
    bundle(this.#folder, files)
    this.#fill()
  }

  /** Takes a ready process and starts a replacement. */
  take(): Pooled {
    const taken = this.#ready.shift() as Pooled
    this.#fill()
    return taken
  }

  /** Returns a process for the next `take`. */
  giveBack(pooled: Pooled): void {
    this.#ready.unshift(pooled)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#ready.splice(0).map(pooled => pooled.kill9()))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #fill(): void {
    // The bundle is in a new folder each time, so its compile cache is not shared.
    const env = { NODE_COMPILE_CACHE: join(this.#folder, 'cache') }
    while (this.#ready.length < this.#size)
      this.#ready.push(this.#wrap(startChildProcess(join(this.#folder, 'process.js'), this.#args, env)))
  }
}
