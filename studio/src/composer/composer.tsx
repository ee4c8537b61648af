import { useChatActions, useSelector } from '@millrace/react'
import { useState } from 'react'
import { hints } from '../programs/hints.ts'
import type { Program } from '../programs/use-programs.ts'
import { Attachments } from './attachments.tsx'
import { sendAtEnter } from './keys.ts'
import { ProgramSelect } from './program-select.tsx'
import { name, titleOf } from './title.ts'

interface ComposerProps {
  readonly programs: readonly Program[]
  readonly program: Program | undefined
  readonly onChoose: (program: Program) => void
  /** Whether nobody has said anything yet. */
  readonly isFirst: boolean
}

/** What to say, to whom, with which files. */
export function Composer({ programs, program, onChoose, isFirst }: ComposerProps) {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<readonly File[]>([])
  const { sendMessage, stop } = useChatActions()
  const runId = useSelector(({ state }) => state.runId)
  const sessionId = useSelector(({ state }) => state.sessionId)
  const said = text.trim()
  const canSend = program !== undefined && (said !== '' || files.length > 0)

  const say = async () => {
    if (!canSend) return
    setText('')
    setFiles([])
    const by = program.kind === 'agent' ? { agent: program.name } : { workflow: program.name }
    const { error } = await sendMessage({ ...(said !== '' && { text: said }), files }, by)
    if (isFirst && !error && sessionId !== undefined)
      name(sessionId, titleOf(program.name, said || `${files[0]?.name}`))
  }
  const hint = hints[program?.name ?? '']?.example
  return (
    <form
      className="composer"
      onSubmit={event => {
        event.preventDefault()
        void say()
      }}
    >
      <Attachments.List files={files} onChange={setFiles} />
      <textarea
        id="input"
        rows={1}
        aria-label="What to say"
        placeholder={
          runId ? 'Say more: it waits its turn' : hint ? `For example: ${hint}` : 'What would you like to say?'
        }
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape' && runId !== undefined && !event.nativeEvent.isComposing) void stop()
          else sendAtEnter(event)
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
          <button type="button" className="stop" title="Escape" onClick={() => void stop()}>
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
