// The child process that checks a file for the doctor, isolated from its output and open handles.

import { DEFAULT_STORE } from '@millrace/server/internal'
import { LoadError, loadApp } from '../dev/load-app.ts'
import { checkOpenStore, checkStore } from './check-store.ts'
import { type Finding, fail, ok } from './finding.ts'

/** The file to check. With `store`, the store of the file is not checked. */
export interface FileCheckRequest {
  readonly file: string
  readonly store?: string
}

/** The findings of a file check. */
export interface FileCheckResult {
  readonly findings: readonly Finding[]
}

const { file, store: explicitStore }: FileCheckRequest = JSON.parse(process.argv[2] ?? '{}')

// The parent process is gone.
process.once('disconnect', () => process.exit(1))
process.send?.(await fileCheckResult(), undefined, undefined, () => process.exit(0))

async function fileCheckResult(): Promise<FileCheckResult> {
  try {
    return { findings: await checkAppFile() }
  } catch (error) {
    if (error instanceof LoadError)
      return { findings: [fail('file', error.message, 'fix the file and run millrace doctor again')] }
    const message = error instanceof Error ? error.message : String(error)
    const isInvalid = error instanceof Error && 'code' in error && error.code === 'invalid'
    return {
      findings: [
        fail('file', message, isInvalid ? 'fix its store option' : 'fix the file and run millrace doctor again'),
      ],
    }
  }
}

async function checkAppFile(): Promise<readonly Finding[]> {
  const { agents = [], workflows = [], store = DEFAULT_STORE } = (await loadApp(file)).options
  const loaded = ok('file', `${file} has ${agents.length} agents and ${workflows.length} workflows`)
  if (explicitStore !== undefined) return [loaded]
  if (typeof store === 'string') return [loaded, ...(await checkStore(store))]
  return [loaded, ...(await checkOpenStore(await store, 'the store of the file'))]
}
