import type { Json, Run, Usage } from '@millrace/protocol'
import { ChatProvider, useSelector } from '@millrace/react'
import type { ReactNode } from 'react'
import { formatDuration } from '../entries/format.ts'
import { JsonTree } from '../entries/json-tree.tsx'
import { ViewUnavailable } from './past-conversation.tsx'
import { useReplay } from './replay.ts'

/** The state of the session at the selected sequence, without messages. */
export function State() {
  const { chat, error } = useReplay()
  return (
    <section className="state" aria-label="State at this point">
      {error !== undefined && <ViewUnavailable reason={error} />}
      <ChatProvider chat={chat}>
        <Shared />
        <Objects />
        <Pendings />
        <Runs />
      </ChatProvider>
    </section>
  )
}

interface SectionProps {
  readonly title: string
  readonly children: ReactNode
}

function Section({ title, children }: SectionProps) {
  return (
    <div className="piece">
      <h3>{title}</h3>
      {children}
    </div>
  )
}

const Nothing = () => <p className="quiet">None.</p>

function Shared() {
  const state = useSelector(({ store }) => store.state)
  const output = useSelector(({ store }) => store.output)
  return (
    <>
      <Section title="Shared state">{state === undefined ? <Nothing /> : <JsonTree value={state} open={3} />}</Section>
      {output !== undefined && (
        <Section title="Output">
          <JsonTree value={output} open={3} />
        </Section>
      )}
    </>
  )
}

function Objects() {
  const ids = useSelector(({ store }) => store.structuredIds)
  if (ids.length === 0) return null
  return (
    <Section title="Structured objects">
      {ids.map(id => (
        <StructuredObject key={id} id={id} />
      ))}
    </Section>
  )
}

function StructuredObject({ id }: { readonly id: string }) {
  const object = useSelector(({ store }) => store.structured(id))
  return object ? <JsonTree value={object as unknown as Json} name={id} open={2} /> : null
}

function Pendings() {
  const pendings = useSelector(({ store }) => store.pendings)
  return (
    <Section title="Pending">
      {pendings.length === 0 && <Nothing />}
      {pendings.map(pending => (
        <JsonTree
          key={`${pending.kind} ${pending.id}`}
          name={pending.kind}
          value={('part' in pending ? pending.part : pending.interrupt) as unknown as Json}
          open={1}
        />
      ))}
    </Section>
  )
}

/** Maximum number of runs to show. */
const MAX_RUNS = 20

function Runs() {
  const runs = useSelector(({ store }) => store.ledger.runs)
  const usage = useSelector(({ store }) => store.ledger.usage)
  const latest = runs.slice(-MAX_RUNS).reverse()
  return (
    <>
      <Section title="Usage">
        <p>{usageOf(usage) || <span className="quiet">None.</span>}</p>
      </Section>
      <Section title={runs.length > MAX_RUNS ? `Last ${MAX_RUNS} of ${runs.length} runs` : 'Runs'}>
        {runs.length === 0 && <Nothing />}
        <ul className="runs">
          {latest.map(run => (
            <li key={run.runId}>
              <RunLine run={run} />
            </li>
          ))}
        </ul>
      </Section>
    </>
  )
}

function RunLine({ run }: { readonly run: Run }) {
  const { program, runId, status, startedAt, finishedAt, usage, at, error, reason } = run
  return (
    <>
      <p>
        <b>{program ?? runId}</b> <span className="badge">{status}</span>
      </p>
      <p className="quiet">
        entry {at}
        {finishedAt !== undefined && `, ${formatDuration(finishedAt - startedAt)}`}
        {usageOf(usage) && `, ${usageOf(usage)}`}
        {(error?.message ?? reason) && `, ${error?.message ?? reason}`}
      </p>
    </>
  )
}

/** Formats token usage. */
function usageOf(usage: Usage): string {
  return Object.entries(usage)
    .filter(([, count]) => typeof count === 'number')
    .map(([name, count]) => `${Number(count).toLocaleString('en')} ${name.replace(/([A-Z])/g, ' $1').toLowerCase()}`)
    .join(', ')
}
