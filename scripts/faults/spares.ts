// A pool of started processes, because starting one takes longer than most tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { type Child, child } from './process.ts'

/** Pool of ready processes. A process that was not killed is reused. */
export class Spares<Used extends Pick<Child, 'kill9'> = Child> {
  readonly #size: number
  readonly #make: (child: Child) => Used
  readonly #args: readonly string[]
  readonly #spare: Used[] = []
  // Most of the start time is resolving and compiling code that earlier processes have compiled already.
  readonly #folder = mkdtempSync(join(tmpdir(), 'millrace-compiled-'))

  /** Starts the file `process`; the other files lie beside it. `make` wraps each process. */
  constructor(
    files: Readonly<Record<'process', string>> & Readonly<Record<string, string>>,
    { size, args = [], make }: { size: number; args?: readonly string[]; make: (child: Child) => Used },
  ) {
    this.#size = size
    this.#make = make
    this.#args = args
    bundle(this.#folder, files)
    this.#fill()
  }

  /** Takes a ready process and starts a replacement. */
  take(): Used {
    const taken = this.#spare.shift() as Used
    this.#fill()
    return taken
  }

  giveBack(used: Used): void {
    this.#spare.unshift(used)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#spare.splice(0).map(spare => spare.kill9()))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #fill(): void {
    // The bundle is in a new folder each time, so its compile cache is not shared.
    const env = { NODE_COMPILE_CACHE: join(this.#folder, 'cache') }
    while (this.#spare.length < this.#size)
      this.#spare.push(this.#make(child(join(this.#folder, 'process.js'), this.#args, env)))
  }
}
