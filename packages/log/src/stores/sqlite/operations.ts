// The operations on a file of logs, by name, so that a call is plain data and can run in this thread or in the
// worker. An operation runs in an open transaction and gets the store's clock.

import { append, find } from './append.ts'
import { blobUsage, getBlob, probeWrite, putBlob } from './blob.ts'
import { claim, due, release, renew } from './lease.ts'
import { list } from './list.ts'
import { listOldest } from './list-oldest.ts'
import { create, fork, remove, restored, trim } from './log.ts'
import type { LogFile } from './log-file.ts'
import { read } from './page.ts'
import { getSnapshot, putSnapshot } from './snapshot.ts'

const reads = { read, find, due, list, listOldest, getSnapshot, getBlob, blobUsage }
const writes = { create, append, claim, renew, release, putSnapshot, putBlob, probeWrite, trim, fork, remove, restored }
const operations = { ...reads, ...writes }

type Arguments<F> = F extends (file: LogFile, now: number, ...rest: infer A) => unknown ? A : never

export type ReadName = keyof typeof reads
export type WriteName = keyof typeof writes
export type OperationName = ReadName | WriteName
export type OperationArgs<N extends OperationName> = Arguments<(typeof operations)[N]>
export type OperationResult<N extends OperationName> = ReturnType<(typeof operations)[N]>

/** An operation with its arguments, and the store's clock at its call. */
export interface OperationCall<N extends OperationName = OperationName> {
  readonly name: N
  readonly now: number
  readonly args: OperationArgs<N>
}

/** Whether it changes the file. */
export const isWrite = ({ name }: OperationCall): boolean => Object.hasOwn(writes, name)

/** Runs it within an open transaction. */
export function perform<N extends OperationName>(
  file: LogFile,
  { name, now, args }: OperationCall<N>,
): OperationResult<N> {
  const operation = operations[name] as (file: LogFile, now: number, ...args: unknown[]) => OperationResult<N>
  return operation(file, now, ...args)
}
