import { hints } from './hints.ts'
import type { Program } from './use-programs.ts'

interface WelcomeProps {
  readonly programs: readonly Program[]
  readonly chosen: Program | undefined
  readonly onChoose: (program: Program) => void
}

/** The start page of a new chat: a list of agents and workflows. */
export function Welcome({ programs, chosen, onChoose }: WelcomeProps) {
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
