import { ScheduleHarness } from '../../../../../scripts/faults/sessions/schedule-harness.fixture.ts'
import type { InProcessServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { Reader, Tab } from './tab.fixture.ts'

/** Maximum duration of a client tool, in ms. */
const TOOL_MS = 20

/** Sessions of a server, and the tabs that show them through proxies. */
export class TabHarness extends ScheduleHarness<InProcessServer> {
  readonly tabs: Tab[] = []
  readonly readers: Reader[] = []
  /** Sessions that were deleted and created again. */
  readonly recreated = new Set<string>()
  /** The tabs that ran each call of a client tool, by call id. */
  readonly toolTabs = new Map<string, Tab[]>()
  /** Number of visible changes in all tabs. */
  observed = 0
  #isRecheckScheduled = false
  readonly #joining = new Set<Promise<Tab>>()

  /** The tab that is opened first. */
  get first(): Tab {
    return this.tabs[0] as Tab
  }

  /** Opens a tab that shows all sessions. @throws the abort reason after the schedule has ended */
  async join(): Promise<Tab> {
    this.signal.throwIfAborted()
    const joining = this.#openTab()
    this.#joining.add(joining)
    return joining.finally(() => this.#joining.delete(joining))
  }

  async #openTab(): Promise<Tab> {
    const { random } = this
    const tab = await Tab.open({
      name: `tab ${this.tabs.length + 1}`,
      port: this.server.port,
      sessionIds: this.sessionIds,
      seed: random.below(2 ** 30),
      tamperEvery: random.pick([8, 20, 100_000]),
      flushIntervalMs: random.pick([0, 5, 16]),
      onChange: () => this.recheck(),
      onTamper: () => this.faults++,
      // The reply may be older than the session that now has the name. A user would reload the page.
      onUnknown: (sessionId, { connection }) => {
        if (this.recreated.has(sessionId)) setImmediate(connection.wake)
      },
      onTool: (toolCallId, by) => this.#run(toolCallId, by),
    })
    this.tabs.push(tab)
    this.notes.push(`${tab.name} joins after ${this.observed} changes`)
    return tab
  }

  /** Starts a `for await` reader through the proxy of a random tab. */
  read(): void {
    const { port } = this.random.pick(this.tabs).gate
    this.readers.push(new Reader(port, this.sessionIds, globalThis.fetch, () => this.recheck()))
  }

  async #run(toolCallId: string, tab: Tab): Promise<unknown> {
    this.toolTabs.set(toolCallId, [...(this.toolTabs.get(toolCallId) ?? []), tab])
    await this.pause(TOOL_MS)
    return { city: 'Ulm' }
  }

  /** Checks all conditions again, once the change that called it is complete. */
  override recheck(): void {
    this.observed++
    if (this.#isRecheckScheduled) return
    this.#isRecheckScheduled = true
    setImmediate(() => {
      this.#isRecheckScheduled = false
      super.recheck()
    })
  }

  /** Ends all faults. */
  stopFaults(): void {
    for (const tab of this.tabs) tab.stopFaults()
  }

  async leave(): Promise<void> {
    this.end()
    for (const reader of this.readers) reader.close()
    // The schedule may have failed while a tab was opening. That tab is closed with the others.
    await Promise.allSettled(this.#joining)
    await Promise.all(this.tabs.map(tab => tab.close()))
  }
}
