import { FileButton } from './file-button.tsx'
import { MAX_BYTES, megabytes } from './read-recording.ts'
import { closeRecording, openRecording, useRecording } from './recording-state.ts'
import { useDrop } from './use-drop.ts'

const open = (file: File): void => void openRecording(file)

/** Asks for a recording and shows the progress of opening it. */
export function OpenRecording() {
  const { name, progress, error } = useRecording()
  const isOver = useDrop('body', open)
  return (
    <section className="open-recording" data-over={isOver} aria-label="Open a recording">
      <svg viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <path d="M12 5h17l9 9v29H12z M29 5v9h9" />
        <path d="M18 22h14 M18 28h14 M18 34h8" />
      </svg>
      <h2>Open a recorded session</h2>
      <p className="quiet">
        Choose a <code>.jsonl</code> file from Export, or drop it anywhere on this page (up to {megabytes(MAX_BYTES)}
        ). It opens read-only and stays in your browser.
      </p>
      {progress ? (
        <div className="reading" role="status">
          <progress max={progress.size || 1} value={progress.bytes} aria-label={`Reading ${name}`} />
          <span>
            {name}: {progress.entries.toLocaleString('en')} entries
          </span>
          <button type="button" onClick={closeRecording}>
            Cancel
          </button>
        </div>
      ) : (
        <FileButton className="primary" onFile={open}>
          Choose file
        </FileButton>
      )}
      {error !== undefined && (
        <p className="bad" role="alert">
          <strong>{name}</strong> could not be opened. {error}
        </p>
      )}
    </section>
  )
}
