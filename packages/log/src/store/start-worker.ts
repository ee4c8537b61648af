import type { Worker, WorkerOptions } from 'node:worker_threads'

/** The code of a worker thread. */
export interface WorkerCode {
  /** `import.meta.url` of a module beside the worker's file. Undefined in the CommonJS output of some bundlers. */
  readonly url: string | undefined
  /** The worker's file. @default 'worker.ts' */
  readonly file?: string
  /** The worker as one script, written by `scripts/worker-sources.ts`. */
  readonly source: string
}

/**
 * Starts a worker: from its file when running from the sources, otherwise from its text, since a bundle has no worker file
 * beside it.
 * @throws {Error} if the platform has no worker threads.
 */
export function startWorker({ url, file = 'worker.ts', source }: WorkerCode, options: WorkerOptions): Worker {
  // Bundlers look for the file of a worker where `Worker` is imported.
  const Worker = process.getBuiltinModule('node:worker_threads')?.Worker
  if (Worker === undefined) throw new Error('this platform has no worker threads')
  // Flags of the process, such as a loader or an inspector, do not apply to the worker. Node before 24.15 warns that SQLite is
  // experimental: the process does so once, not each of its workers.
  const execArgv = ['--disable-warning=ExperimentalWarning']
  if (!url?.endsWith('.ts')) return new Worker(source, { ...options, execArgv, eval: true })
  return new Worker(new URL(url.replace(/[^/]*$/, file)), {
    ...options,
    execArgv: [...execArgv, '--conditions=@millrace/source'],
  })
}
