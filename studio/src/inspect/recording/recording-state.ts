import type { Recording } from '@millrace/client/log'
import { useSyncExternalStore } from 'react'
import { type Progress, RecordingError, readRecording } from './read-recording.ts'

/** The open recording of this page, or the progress of opening one. */
export interface RecordingState {
  readonly recording?: Recording
  /** Name of the file. */
  readonly name?: string
  readonly progress?: Progress
  readonly error?: string
}

let state: RecordingState = {}
let reading: AbortController | undefined
const PROGRESS_INTERVAL_MS = 50
const listeners = new Set<() => void>()

function set(next: RecordingState): void {
  state = next
  for (const listener of listeners) listener()
}

/** The recording of this page. Renders again when it changes. */
export const useRecording = (): RecordingState => useSyncExternalStore(subscribe, read, read)

const read = (): RecordingState => state

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Opens a file instead of the current one. Resolves to whether it could be read. */
export async function openRecording(file: File): Promise<boolean> {
  reading?.abort()
  reading = new AbortController()
  const { signal } = reading
  const { name } = file
  set({ name, progress: { bytes: 0, size: file.size, entries: 0 } })
  let updatedAt = 0
  const onProgress = (progress: Progress) => {
    if (performance.now() - updatedAt < PROGRESS_INTERVAL_MS) return
    updatedAt = performance.now()
    set({ name, progress })
  }
  try {
    const recording = await readRecording(file, { onProgress, signal })
    set({ name, recording })
    return true
  } catch (error) {
    if (signal.aborted) return false
    set({ name, error: error instanceof RecordingError ? error.message : 'Your browser could not read the file.' })
    return false
  }
}

/** Closes the recording, or cancels opening it. */
export function closeRecording(): void {
  reading?.abort()
  set({})
}
