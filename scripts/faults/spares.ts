// Processes that wait to be used: to start one takes longer than most of what a test wants to see of it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { type Child, child } from './process.ts'

/** Processes that are ready to be used, and used again where nobody killed them. */
export class Spares<Used extends Pick<Child, 'kill9'> = Child> {
  readonly #size: number
  readonly #make: (child: Child) => Used
  readonly #args: readonly string[]
  readonly #spare: Used[] = []
  // Most of what a process does before it is ready is finding and compiling what others have found and compiled already.
  readonly #folder = mkdtempSync(join(tmpdir(), 'millrace-compiled-'))

  /** Of the file called `process`; the others lie beside it. `make` makes of each what is to be used. */
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

  /** One that is ready; another takes its place. */
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
    // The bundle lies in a new folder each time, so its compiled code is of no use to others.
    const env = { NODE_COMPILE_CACHE: join(this.#folder, 'cache') }
    while (this.#spare.length < this.#size)
      this.#spare.push(this.#make(child(join(this.#folder, 'process.js'), this.#args, env)))
  }
}
