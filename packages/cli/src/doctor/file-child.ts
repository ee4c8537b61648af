// The process that looks at a file for the doctor: what the file prints, keeps open or waits for is its own affair there.

import { DEFAULT_STORE } from '@millrace/server/internal'
import { LoadError, loadApp } from '../dev/load-app.ts'
import { checkOpen, checkStore } from './check-store.ts'
import { type Finding, fail, ok } from './finding.ts'

/** The file to check, and its store unless another is named. */
export interface FileCheckRequest {
  readonly file: string
  readonly store?: string
}

/** The findings of a file check. */
export interface FileCheckResult {
  readonly findings: readonly Finding[]
}

const { file, store: named }: FileCheckRequest = JSON.parse(process.argv[2] ?? '{}')

/** Nobody is left to be told. */
process.once('disconnect', () => process.exit(1))
process.send?.(await fileCheckResult(), undefined, undefined, () => process.exit(0))

async function fileCheckResult(): Promise<FileCheckResult> {
  try {
    return { findings: await checkAppFile() }
  } catch (error) {
    if (error instanceof LoadError) return { findings: [fail('file', error.message, 'mend it, and ask again')] }
    const message = error instanceof Error ? error.message : String(error)
    const isInvalid = error instanceof Error && 'code' in error && error.code === 'invalid'
    return { findings: [fail('file', message, isInvalid ? 'mend its store' : 'mend it, and ask again')] }
  }
}

async function checkAppFile(): Promise<readonly Finding[]> {
  const { agents = [], workflows = [], store = DEFAULT_STORE } = (await loadApp(file)).options
  const found = ok('file', `${file} has ${agents.length} agents and ${workflows.length} workflows`)
  if (named !== undefined) return [found]
  if (typeof store === 'string') return [found, ...(await checkStore(store))]
  return [found, ...(await checkOpen(await store, 'the store of the file'))]
}
