import type { Pending } from '@millrace/client'
import { usePending } from '@millrace/react'
import { tools } from '../app/tools.ts'
import { Approval } from './approval.tsx'
import { ClientTool } from './client-tool.tsx'
import { Interrupt } from './interrupt.tsx'

/** What the run waits for, and how a person answers it. */
export function Pendings() {
  const { pendings } = usePending()
  return (
    <section className="pendings" aria-label="What the run waits for" aria-live="polite">
      {pendings.map(pending => (
        <OnePending key={pending.id} pending={pending} />
      ))}
    </section>
  )
}

function OnePending({ pending }: { readonly pending: Pending }) {
  if (pending.kind === 'approval') return <Approval pending={pending} />
  if (pending.kind === 'interrupt') return <Interrupt interrupt={pending.interrupt} />
  // What the browser does by itself needs nobody.
  return Object.hasOwn(tools, pending.part.toolName) ? null : <ClientTool pending={pending} />
}
