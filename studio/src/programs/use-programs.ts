import { useEffect, useState } from 'react'
import { headers } from '../app/connection.ts'
import { soon } from '../soon.ts'

/** What can be asked: an agent or a workflow. */
export interface Program {
  readonly kind: 'agent' | 'workflow'
  readonly name: string
}

interface Listed {
  readonly agents: readonly { readonly name: string }[]
  readonly workflows: readonly { readonly id: string }[]
}

/** What the server can start; none until it has said so. */
export function usePrograms(): readonly Program[] {
  const [programs, setPrograms] = useState<readonly Program[]>([])
  useEffect(() => {
    const control = new AbortController()
    void soon(async signal => {
      const reply = await fetch('/api/agents', { headers, signal })
      if (!reply.ok) throw new Error(`The server answered with status ${reply.status}.`)
      const { agents, workflows } = (await reply.json()) as Listed
      setPrograms([
        ...agents.map(({ name }) => ({ kind: 'agent', name }) as const),
        ...workflows.map(({ id }) => ({ kind: 'workflow', name: id }) as const),
      ])
    }, control.signal)
    return () => control.abort()
  }, [])
  return programs
}

/** The program that a run is of, by its full name: `agent:echo@1`. */
export function programOf(full: string | undefined): Program | undefined {
  const [, kind, name] = /^(agent|workflow):(.+)@/.exec(full ?? '') ?? []
  return name === undefined ? undefined : { kind: kind as Program['kind'], name }
}
