// The thread in which a file may be waited for. Calls that have come in meanwhile share one transaction, and so one flush to the disk; each is
// answered only after its commit.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { isBusy, packFailure } from './failure.ts'
import { type FileOptions, LogFile } from './file.ts'
import { isWrite, perform } from './operations.ts'
import type { Answer, CallRequest, CheckpointRequest, Request } from './thread.ts'

/** For how long a call waits for another process that has the file locked, in milliseconds. */
const BUSY_TIMEOUT = 5000
/** Between two tries to open a file that others are opening: SQLite does not always wait there by itself. */
const OPEN_PAUSE = 10
/** How many calls share a transaction at most, so that other processes get the lock in between. */
const GROUP = 256
/** For how long a checkpoint waits for readers, in milliseconds. */
const CHECKPOINT_TIMEOUT = 20

const port = parentPort as NonNullable<typeof parentPort>
const options = workerData as FileOptions
let file: LogFile | undefined

port.on('message', (first: Request) => {
  const requests = [first, ...received(GROUP - 1)]
  const calls = requests.filter(request => request.kind === 'call')
  if (calls.length > 0) port.postMessage(answersTo(calls))
  for (const request of requests) {
    if (request.kind === 'checkpoint') port.postMessage([checkpointed(request)])
    else if (request.kind === 'close') end()
  }
})

function* received(most: number): Generator<Request> {
  for (let n = 0; n < most; n++) {
    const next = receiveMessageOnPort(port)
    if (next === undefined) return
    yield next.message as Request
  }
}

/** Does calls in one transaction. Where one of them fails, each is done in one of its own, so that it fails alone. */
function answersTo(calls: readonly CallRequest[]): Answer[] {
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

function checkpointed({ id, isFull }: CheckpointRequest): Answer {
  try {
    checkpoint(isFull)
    return { id, result: undefined }
  } catch (error) {
    return { id, failure: packFailure(error) }
  }
}

function end(): void {
  file?.close()
  port.close()
}

function openFile(): LogFile {
  const end = performance.now() + BUSY_TIMEOUT
  while (file === undefined) {
    try {
      file = new LogFile(options, BUSY_TIMEOUT)
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPEN_PAUSE)
    }
  }
  return file
}

function checkpoint(isFull: boolean): void {
  const open = openFile()
  // Somebody else who reads for long must not hold up those who write.
  open.row(`PRAGMA busy_timeout = ${CHECKPOINT_TIMEOUT}`)
  open.row(`PRAGMA wal_checkpoint(${isFull ? 'FULL' : 'PASSIVE'})`)
  open.row(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
}
