import { useChatActions, useSelector } from '@millrace/react'
import { useState } from 'react'
import { hints } from '../programs/hints.ts'
import type { Program } from '../programs/use-programs.ts'
import { Attachments } from './attachments.tsx'
import { ProgramSelect } from './program-select.tsx'
import { submitOnEnter } from './submit-on-enter.ts'
import { setTitleFrom } from './title.ts'

interface ComposerProps {
  readonly programs: readonly Program[]
  readonly program: Program | undefined
  readonly onChoose: (program: Program) => void
  /** Whether the chat has no message yet. */
  readonly isFirst: boolean
}

/** The form that sends a message with files to an agent. */
export function Composer({ programs, program, onChoose, isFirst }: ComposerProps) {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<readonly File[]>([])
  const { sendMessage, stop } = useChatActions()
  const runId = useSelector(({ state }) => state.runId)
  const sessionId = useSelector(({ state }) => state.sessionId)
  const trimmed = text.trim()
  const canSend = program !== undefined && (trimmed !== '' || files.length > 0)

  const send = async () => {
    if (!canSend) return
    setText('')
    setFiles([])
    const target = program.kind === 'agent' ? { agent: program.name } : { workflow: program.name }
    const { error } = await sendMessage({ ...(trimmed !== '' && { text: trimmed }), files }, target)
    if (isFirst && !error && sessionId !== undefined) setTitleFrom(sessionId, trimmed || `${files[0]?.name}`)
  }
  const hint = isFirst ? hints[program?.name ?? '']?.example : undefined
  return (
    <form
      className="composer"
      onSubmit={event => {
        event.preventDefault()
        void send()
      }}
    >
      <Attachments.List files={files} onChange={setFiles} />
      <textarea
        id="input"
        rows={1}
        aria-label="Message"
        placeholder={runId ? 'Queue another message' : hint ? `Try: ${hint}` : 'Send a message'}
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape' && runId !== undefined && !event.nativeEvent.isComposing) void stop()
          else submitOnEnter(event)
        }}
        onPaste={event => {
          const pasted = [...event.clipboardData.files]
          if (pasted.length > 0) setFiles([...files, ...pasted])
        }}
      />
      <div className="row">
        <Attachments.Button onAdd={added => setFiles([...files, ...added])} />
        <ProgramSelect programs={programs} program={program} onChoose={onChoose} />
        <span className="space" />
        {runId !== undefined && (
          <button type="button" className="stop" title="Stop (Esc)" onClick={() => void stop()}>
            Stop
          </button>
        )}
        <button type="submit" className="primary send" disabled={!canSend}>
          Send
        </button>
      </div>
    </form>
  )
}
