import { scheduleSuite } from '../../../../../scripts/faults/sessions/schedule-suite.fixture.ts'
import type { InProcessServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { openChatServer } from './chat-server.fixture.ts'
import { playTabSchedule, type TabReport } from './tab-schedule.fixture.ts'

interface TabSuite {
  readonly name: 'memory' | 'sqlite'
  /** Number of schedules that `npm test` plays. */
  readonly count: number
  /** Number of schedules that play at the same time on one server. */
  readonly concurrency: number
  /** URL of the store. @default in memory */
  readonly url?: string
}

/** Declares the test of a store. */
export function tabSuite({ name, count, concurrency, url }: TabSuite): void {
  scheduleSuite<InProcessServer, TabReport>({
    law: `laws 2 and 7: each tab shows the log on ${name} and reports each event once while connections fail`,
    file: `packages/client/src/test/faults/${name}`,
    count,
    concurrency,
    open: () => openChatServer(url),
    close: server => server.close(),
    play: playTabSchedule,
    killed: ({ serversKilled }) => serversKilled,
    summary(reports, { serversKilled }) {
      const sum = (count: (report: TabReport) => number) => reports.reduce((total, report) => total + count(report), 0)
      const tabs = sum(report => report.tabs)
      const connections = sum(report => report.connections)
      const tampered = sum(report => report.tampered)
      return `${reports.length} schedules, ${tabs} tabs, ${connections} connections, ${tampered} frames tampered with, ${serversKilled} servers killed`
    },
  })
}
