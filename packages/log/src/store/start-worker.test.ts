import { afterEach, expect, test, vi } from 'vitest'
import { startWorker } from './start-worker.ts'

afterEach(() => void vi.restoreAllMocks())

test.each([undefined, {}])('a platform without worker threads is an error that says so: %s', found => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(found as never)
  expect(() => startWorker({ url: import.meta.url, source: '' }, {})).toThrow('this platform has no worker threads')
})
