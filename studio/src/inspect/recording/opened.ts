import type { Recording } from '@millrace/client/log'
import { useSyncExternalStore } from 'react'
import { type Progress, RecordingError, readRecording } from './read.ts'

/** The recording that is open on this page, and how it stands with one that is about to be. */
export interface Opened {
  readonly recording?: Recording
  /** The name of the file that is or was to be opened. */
  readonly name?: string
  readonly progress?: Progress
  readonly error?: string
}

let opened: Opened = {}
let reading: AbortController | undefined
const listeners = new Set<() => void>()

function set(next: Opened): void {
  opened = next
  for (const listener of listeners) listener()
}

/** How it stands with the recording of this page: renders again when that changes. */
export const useRecording = (): Opened => useSyncExternalStore(subscribe, read, read)

const read = (): Opened => opened

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Opens a file in place of what is open; tells whether it could be. */
export async function openRecording(file: File): Promise<boolean> {
  reading?.abort()
  reading = new AbortController()
  const { signal } = reading
  const { name } = file
  set({ name, progress: { bytes: 0, size: file.size, entries: 0 } })
  let told = 0
  const onProgress = (progress: Progress) => {
    // As often as anybody can see.
    if (performance.now() - told < 50) return
    told = performance.now()
    set({ name, progress })
  }
  try {
    const recording = await readRecording(file, { onProgress, signal })
    set({ name, recording })
    return true
  } catch (error) {
    if (signal.aborted) return false
    set({ name, error: error instanceof RecordingError ? error.message : 'The browser could not read it.' })
    return false
  }
}

/** Leaves what is open, or about to be. */
export function closeRecording(): void {
  reading?.abort()
  set({})
}
