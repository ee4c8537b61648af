import { APPROVALS_PROGRAM, approvalsAgents } from '../crash/approvals-program.fixture.ts'
import { type Program, TOOLS_PROGRAM } from '../crash/tools-program.fixture.ts'
import { SCENARIOS, type ScenarioName } from '../crash/workflow.scenarios.fixture.ts'

export type ProgramName = 'tools' | 'approvals' | ScenarioName

/** Timeout of the answer that never comes, in ms. */
const DEADLINE_MS = 60

interface ScheduledProgram extends Program {
  /** Approximate number of points and of appends in an undisturbed run. */
  readonly typical: { readonly points: number; readonly appends: number }
}

/** For a workflow: from one pause to the next. */
const FLOW = { points: 12, appends: 10 }

/** The programs of the schedules: two runs without pendings, one with pendings and sub-agents, and workflows. */
export const PROGRAMS: Readonly<Record<ProgramName, ScheduledProgram>> = {
  tools: { ...TOOLS_PROGRAM, typical: { points: 60, appends: 50 } },
  approvals: {
    ...APPROVALS_PROGRAM,
    agents: options => approvalsAgents({ ...options, deadlineMs: DEADLINE_MS }),
    typical: { points: 90, appends: 75 },
  },
  draft: { ...SCENARIOS.draft, typical: FLOW },
  rounds: { ...SCENARIOS.rounds, typical: FLOW },
  branches: { ...SCENARIOS.branches, typical: FLOW },
  passage: { ...SCENARIOS.passage, typical: FLOW },
  retry: { ...SCENARIOS.retry, typical: FLOW },
  consent: { ...SCENARIOS.consent, typical: FLOW },
}
