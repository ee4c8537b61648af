// The worker thread, in which calls may wait for the file. Queued calls share one transaction, and so one flush to
// disk. Each is answered only after the commit.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { isBusy, packFailure } from './failure.ts'
import { type FileOptions, LogFile, walBytesOf } from './log-file.ts'
import { isWrite, perform } from './operations.ts'
import type { CallRequest, CheckpointMode, CheckpointRequest, WorkerAnswer, WorkerRequest } from './worker-thread.ts'

/** How long a call waits for a lock of another process, in ms. */
const BUSY_TIMEOUT_MS = 5000
/**
 * Pause between two tries to open a file that other processes are opening, in ms: SQLite does not always wait there.
 */
const OPEN_RETRY_MS = 10
/** Maximum number of calls per transaction, so that other processes get the lock in between. */
const MAX_CALLS_PER_TRANSACTION = 256
/** Size of the values that one transaction writes, in bytes: a transaction extends the write-ahead log by as much. */
const MAX_BYTES_PER_TRANSACTION = 8 * 1024 * 1024
/** How long a checkpoint waits for readers, in ms. */
const CHECKPOINT_TIMEOUT_MS = 20

const port = parentPort as NonNullable<typeof parentPort>
const options = workerData as FileOptions
let file: LogFile | undefined

port.on('message', (first: WorkerRequest) => {
  const requests = [first, ...queuedRequests(bytesOf(first))]
  const calls = requests.filter(request => request.kind === 'call')
  if (calls.length > 0) {
    port.postMessage(answersTo(calls))
    boundWal()
  }
  for (const request of requests) {
    if (request.kind === 'checkpoint') port.postMessage([answerToCheckpoint(request)])
    else if (request.kind === 'close') end()
  }
})

/** The queued requests that fit into one transaction with the first, which has this size. */
function* queuedRequests(firstBytes: number): Generator<WorkerRequest> {
  let bytes = firstBytes
  for (let n = 1; n < MAX_CALLS_PER_TRANSACTION && bytes < MAX_BYTES_PER_TRANSACTION; n++) {
    const next = receiveMessageOnPort(port)
    if (next === undefined) return
    const request = next.message as WorkerRequest
    bytes += bytesOf(request)
    yield request
  }
}

const bytesOf = (request: WorkerRequest): number => (request.kind === 'call' ? request.bytes : 0)

/** Lets the next write restart a write-ahead log that is too large. Requests that are queued would otherwise extend it. */
function boundWal(): void {
  if (file === undefined || walBytesOf(options.path) <= options.walBytes) return
  try {
    checkpoint('passive')
  } catch {
    // The next one tries again.
  }
}

/** Runs calls in one transaction. If one fails, each runs in its own transaction, so that only it fails. */
function answersTo(calls: readonly CallRequest[]): WorkerAnswer[] {
  try {
    const open = openFile()
    return open.transaction(calls.some(({ call }) => isWrite(call)) ? 'write' : 'read', () =>
      calls.map(({ id, call }) => ({ id, result: perform(open, call) })),
    )
  } catch (error) {
    if (calls.length > 1 && !isBusy(error)) return calls.flatMap(call => answersTo([call]))
    return calls.map(({ id }) => ({ id, failure: packFailure(error) }))
  }
}

function answerToCheckpoint({ id, mode }: CheckpointRequest): WorkerAnswer {
  try {
    return { id, result: checkpoint(mode) }
  } catch (error) {
    return { id, failure: packFailure(error) }
  }
}

function end(): void {
  file?.close()
  port.close()
}

function openFile(): LogFile {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  while (file === undefined) {
    try {
      file = new LogFile(options, BUSY_TIMEOUT_MS)
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPEN_RETRY_MS)
    }
  }
  return file
}

/** Returns whether the checkpoint was complete. */
function checkpoint(mode: CheckpointMode): boolean {
  const open = openFile()
  // A long read of another process must not block writers.
  open.row(`PRAGMA busy_timeout = ${CHECKPOINT_TIMEOUT_MS}`)
  try {
    return open.row<[isBusy: number]>(`PRAGMA wal_checkpoint(${mode})`)?.[0] === 0
  } finally {
    open.row(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}
