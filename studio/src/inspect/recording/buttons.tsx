import { useLogState } from '@millrace/react/log'
import { useState } from 'react'
import { inspectorOf } from '../../app/place.ts'
import { useInspected } from '../inspected.ts'
import { useDrop } from './drop.ts'
import { FileButton } from './file-button.tsx'
import { openRecording } from './opened.ts'
import { fileNameOf, recordingBlob, save } from './write.ts'

/** Goes to the page of recordings, and opens one there. */
function openThere(file: File): void {
  void openRecording(file)
  const address = inspectorOf()
  if (location.pathname === address) return
  history.pushState(null, '', address)
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Saves what is inspected as a file, or opens another. */
export function RecordingButtons() {
  const isOver = useDrop('.inspect, .drawer', openThere)
  return (
    <>
      <ExportButton />
      <FileButton onFile={openThere}>Import</FileButton>
      {isOver && <p className="drop-here">Drop it to open the recording</p>}
    </>
  )
}

function ExportButton() {
  const log = useInspected()
  const { count } = useLogState(log)
  const [share, setShare] = useState<number>()
  const isBusy = share !== undefined
  const write = async () => {
    setShare(0)
    try {
      const { sessionId, entries, base } = log
      save(await recordingBlob({ sessionId, entries, base }, setShare), fileNameOf(sessionId))
    } finally {
      setShare(undefined)
    }
  }
  return (
    <button
      type="button"
      disabled={isBusy || count === 0}
      title="Save this session as a file of one entry a line"
      onClick={() => void write()}
    >
      {isBusy ? `Exporting ${Math.floor(share * 100)} %` : 'Export'}
    </button>
  )
}
