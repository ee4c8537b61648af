import { useEffect, useState } from 'react'
import { headers } from '../app/connection.ts'
import { retryUntilDone } from '../retry-until-done.ts'

/** An agent or a workflow of the server. */
export interface Program {
  readonly kind: 'agent' | 'workflow'
  readonly name: string
}

interface Listed {
  readonly agents: readonly { readonly name: string }[]
  readonly workflows: readonly { readonly id: string }[]
}

/** The agents and workflows of the server; empty until it has answered. */
export function usePrograms(): readonly Program[] {
  const [programs, setPrograms] = useState<readonly Program[]>([])
  useEffect(() => {
    const control = new AbortController()
    void retryUntilDone(async signal => {
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

/** Parses the full name of a program, such as `agent:echo@1`. */
export function programOf(full: string | undefined): Program | undefined {
  const [, kind, name] = /^(agent|workflow):(.+)@/.exec(full ?? '') ?? []
  return name === undefined ? undefined : { kind: kind as Program['kind'], name }
}
