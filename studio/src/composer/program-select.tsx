import type { Program } from '../programs/use-programs.ts'

interface ProgramSelectProps {
  readonly programs: readonly Program[]
  readonly program: Program | undefined
  readonly onChoose: (program: Program) => void
}

/** Selects the agent or workflow that gets the next message. */
export function ProgramSelect({ programs, program, onChoose }: ProgramSelectProps) {
  const options = (kind: Program['kind']) =>
    programs
      .filter(program => program.kind === kind)
      .map(({ name }) => (
        <option key={name} value={`${kind}:${name}`}>
          {name}
        </option>
      ))
  if (programs.length === 0) return null
  return (
    <select
      className="program"
      aria-label="Agent"
      value={program && `${program.kind}:${program.name}`}
      onChange={({ target }) => {
        const selected = programs.find(({ kind, name }) => `${kind}:${name}` === target.value)
        if (selected) onChoose(selected)
      }}
    >
      <optgroup label="Agents">{options('agent')}</optgroup>
      <optgroup label="Workflows">{options('workflow')}</optgroup>
    </select>
  )
}
