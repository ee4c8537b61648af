import { noticeAndDeadlineProgram } from '../../ticket/notice.ts'
import { mustStop } from '../../ticket/ticket.ts'
import { RunDriver } from './run-driver.fixture.ts'
import { scriptOf } from './run-script.fixture.ts'
import type { Actor, ActorMode } from './schedule-actor.fixture.ts'

export const PROGRAMS = ['agent:one@1', 'agent:two@1'] as const
/** A program that is sometimes requested and that no driver has. */
export const UNKNOWN_PROGRAM = 'agent:nobody@1'

/** Claims due logs and drives each until it ends, pauses or is lost. */
export async function driverActor(actor: Actor, seed: number, mode: ActorMode): Promise<never> {
  const { random, manager } = actor
  // Some drivers have only one of the programs.
  const knownPrograms = random.chance(0.7) ? PROGRAMS : PROGRAMS.slice(0, 1)
  for (;;) {
    await actor.sleep(5, mode.isFinishing ? 300 : 120)
    const programs = mode.isFinishing ? PROGRAMS : knownPrograms
    actor.recordAction('due')
    // A deadline may be behind a pending notification.
    const names = [
      ...programs,
      ...programs.map(program => noticeAndDeadlineProgram(program)),
      noticeAndDeadlineProgram(),
    ]
    const due = (await actor.attempt(() => manager.due(names))) ?? []
    // Sometimes takes over a log from a writer that may be alive.
    const takeover = !mode.isFinishing && random.chance(0.06)
    const streamId = takeover ? random.pick([...due, ...actor.streams]) : due[0] && random.pick(due)
    if (streamId !== undefined) await actor.attempt(() => drive(actor, seed, streamId, programs, takeover))
  }
}

async function drive(
  actor: Actor,
  seed: number,
  streamId: string,
  programs: readonly string[],
  takeover: boolean,
): Promise<void> {
  const { manager, world } = actor
  const info = await manager.getInfo(streamId)
  if (info === null) return
  const { run, requests } = info.ticket
  const target = run ?? requests[0]
  if (target === undefined) return
  const { runId, program } = target
  // Any driver can end a run that was asked to stop.
  if (!programs.includes(program) && !mustStop(info.ticket)) return
  const agentType = /:(.*)@/.exec(program)?.[1] as string
  actor.recordAction(`claim ${streamId} for ${runId}${takeover ? ', taking it over' : ''}`)
  const writer = await manager.createWriter(streamId, { runId, agentType, program, takeover })
  const isLive = writer.ticket.run?.runId === runId
  // Between the read and the claim, another driver may have ended the run, or the log may have been replaced.
  const isStillDue = isLive || (!writer.ticket.run && writer.ticket.requests[0]?.runId === runId)
  try {
    const mayDrive = programs.includes(program) || (isLive && mustStop(writer.ticket))
    if (isStillDue && mayDrive) await new RunDriver(actor, writer, runId, scriptOf(seed, runId)).run()
  } finally {
    world.scheduler.note(`${actor.process.name}: releases ${streamId}`)
    await writer.close()
  }
}
