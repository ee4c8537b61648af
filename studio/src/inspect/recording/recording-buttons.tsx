import { useLogState } from '@millrace/react/log'
import { useState } from 'react'
import { inspectorUrl } from '../../app/route.ts'
import { useInspectedLog } from '../inspected-log.ts'
import { FileButton } from './file-button.tsx'
import { fileNameOf, recordingBlob, save } from './recording-blob.ts'
import { openRecording } from './recording-state.ts'
import { useDrop } from './use-drop.ts'

/** Opens a recording on its own page. */
function openOnRecordingPage(file: File): void {
  void openRecording(file)
  const url = inspectorUrl()
  if (location.pathname === url) return
  history.pushState(null, '', url)
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Exports the inspected session to a file, or imports one. */
export function RecordingButtons() {
  const isOver = useDrop('.inspect, .drawer', openOnRecordingPage)
  return (
    <>
      <ExportButton />
      <FileButton onFile={openOnRecordingPage}>Import</FileButton>
      {isOver && <p className="drop-here">Drop to open the recording</p>}
    </>
  )
}

function ExportButton() {
  const log = useInspectedLog()
  const { count } = useLogState(log)
  const [progress, setProgress] = useState<number>()
  const isBusy = progress !== undefined
  const write = async () => {
    setProgress(0)
    try {
      const { sessionId, entries, base } = log
      save(await recordingBlob({ sessionId, entries, base }, setProgress), fileNameOf(sessionId))
    } finally {
      setProgress(undefined)
    }
  }
  return (
    <button
      type="button"
      disabled={isBusy || count === 0}
      title="Download this session as a .jsonl file"
      onClick={() => void write()}
    >
      {isBusy ? `Exporting ${Math.floor(progress * 100)} %` : 'Export'}
    </button>
  )
}
