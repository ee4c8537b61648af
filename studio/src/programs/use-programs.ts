import { useEffect, useState } from 'react'
import { headers } from '../app/connection.ts'

/** An agent or a workflow of the server. */
export interface Program {
  readonly kind: 'agent' | 'workflow'
  readonly name: string
}

interface Listed {
  readonly agents: readonly { readonly name: string }[]
  readonly workflows: readonly { readonly id: string }[]
}

/** The agents and workflows of the server, and the error of the last attempt to load them. */
export interface ProgramList {
  /** Undefined until the server has answered. */
  readonly programs: readonly Program[] | undefined
  readonly error: Error | undefined
}

/** Loads the agents and workflows of the server. Retries until it answers. */
export function usePrograms(): ProgramList {
  const [list, setList] = useState<ProgramList>({ programs: undefined, error: undefined })
  useEffect(() => {
    const control = new AbortController()
    void retryUntilDone(async signal => {
      try {
        const reply = await fetch('/api/agents', { headers, signal })
        if (!reply.ok) throw new Error(`The server answered with status ${reply.status}.`)
        const { agents, workflows } = (await reply.json()) as Listed
        const programs = [
          ...agents.map(({ name }) => ({ kind: 'agent', name }) as const),
          ...workflows.map(({ id }) => ({ kind: 'workflow', name: id }) as const),
        ]
        setList({ programs, error: undefined })
      } catch (error) {
        if (!signal.aborted) setList({ programs: undefined, error: error as Error })
        throw error
      }
    }, control.signal)
    return () => control.abort()
  }, [])
  return list
}

const RETRY_MS = 2000

/** Retries an action every 2 s until it succeeds or `signal` aborts. */
async function retryUntilDone(action: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await action(signal)
    } catch {
      await new Promise(done => setTimeout(done, RETRY_MS))
    }
  }
}

/** Parses the full name of a program, such as `agent:echo@1`. */
export function programOf(full: string | undefined): Program | undefined {
  const [, kind, name] = /^(agent|workflow):(.+)@/.exec(full ?? '') ?? []
  return name === undefined ? undefined : { kind: kind as Program['kind'], name }
}
