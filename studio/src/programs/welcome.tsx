import { errorText } from '../error-text.ts'
import { hints } from './hints.ts'
import type { Program, ProgramList } from './use-programs.ts'

interface WelcomeProps {
  readonly list: ProgramList
  readonly chosen: Program | undefined
  readonly onChoose: (program: Program) => void
}

/** The start page of a new chat: a list of agents and workflows. */
export function Welcome({ list: { programs, error }, chosen, onChoose }: WelcomeProps) {
  if (error) {
    return (
      <section className="welcome">
        <p className="failure" role="alert">
          {errorText(error)} Check that it is running. Retrying…
        </p>
      </section>
    )
  }
  if (programs?.length === 0) {
    return (
      <section className="welcome">
        <p className="quiet">
          This server has no agents. Add one: <code>{'millrace({ agents: [myAgent] })'}</code>
        </p>
      </section>
    )
  }
  if (programs === undefined) return <section className="welcome" aria-busy="true" />
  return (
    <section className="welcome" aria-labelledby="welcome">
      <h2 id="welcome">Choose an agent</h2>
      <ul>
        {programs.map(program => (
          <li key={program.name}>
            <button
              type="button"
              aria-pressed={program.name === chosen?.name}
              data-program={program.name}
              onClick={() => onChoose(program)}
            >
              <strong>{program.name}</strong>
              <span>{hints[program.name]?.about}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
