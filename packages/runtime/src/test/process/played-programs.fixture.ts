import { APPROVALS_PROGRAM, approvalsAgents } from '../crash/approvals-program.fixture.ts'
import { type Program, TOOLS_PROGRAM } from '../crash/tools-program.fixture.ts'
import { SCENARIOS, type ScenarioName } from '../crash/workflow.scenarios.fixture.ts'

export type ProgramName = 'pond' | 'mill' | ScenarioName

/** Timeout of the answer that never comes, in ms. */
const DEADLINE_MS = 60

interface PlayedProgram extends Program {
  /** Approximate number of points and of appends in an undisturbed run. */
  readonly usual: { readonly points: number; readonly appends: number }
}

/** For a workflow: from one pause to the next. */
const FLOW = { points: 12, appends: 10 }

/** The programs of the schedules: two runs without pendings, one with pendings and sub-agents, and workflows. */
export const PROGRAMS: Readonly<Record<ProgramName, PlayedProgram>> = {
  pond: { ...TOOLS_PROGRAM, usual: { points: 60, appends: 50 } },
  mill: {
    ...APPROVALS_PROGRAM,
    agents: options => approvalsAgents({ ...options, deadlineMs: DEADLINE_MS }),
    usual: { points: 90, appends: 75 },
  },
  draft: { ...SCENARIOS.draft, usual: FLOW },
  rounds: { ...SCENARIOS.rounds, usual: FLOW },
  branches: { ...SCENARIOS.branches, usual: FLOW },
  passage: { ...SCENARIOS.passage, usual: FLOW },
  retry: { ...SCENARIOS.retry, usual: FLOW },
  consent: { ...SCENARIOS.consent, usual: FLOW },
}
