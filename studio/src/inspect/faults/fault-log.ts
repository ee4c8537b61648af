/** What can be made to go wrong. */
export type FaultName = 'drop' | 'delay' | 'kill-worker' | 'restart-server'

/** How things stand, as far as it tells what came of a fault. */
export interface Standing {
  readonly isLive: boolean
  readonly delayMs: number
  readonly server?: { readonly pid: number } | undefined
  readonly worker?: { readonly state: string; readonly pid?: number; readonly starts: number } | undefined
  /** Up to where this tab's log is known. */
  readonly head: number
}

/** A fault, and what came of it. */
export interface Fault {
  readonly id: number
  readonly name: FaultName
  /** Of a delay: how long. */
  readonly ms?: number
  /** When, in milliseconds of the page. */
  readonly time: number
  /** Up to where this tab's log was known then. */
  readonly head: number
  readonly state: 'under-way' | 'over' | 'refused'
  /** What came of it, in words. */
  readonly words?: string
  /** How long it took until all was as before, in milliseconds. */
  readonly tookMs?: number
  /** Up to where this tab's log was known when it was over. */
  readonly headAfter?: number
  /** The sequence at which another worker took the run over. */
  readonly takenOverAt?: number
  /** Whether a run was left that nobody drives until the lease of who did has run out. */
  readonly isLeaseHeld?: boolean
}

interface Circumstances {
  /** Of a delay: how long. */
  readonly ms?: number | undefined
  /** Whether a run is being driven. */
  readonly isAtWork?: boolean
}

interface Open {
  readonly before: Standing
  wasAway: boolean
}

/** The latest that are kept. */
const MOST = 100
/** A tab that has not noticed by then had no stream open. */
const NOTICED_MS = 4000

/** Faults in the order in which they were caused, each with what came of it. */
export class FaultLog {
  #faults: readonly Fault[] = []
  readonly #open = new Map<number, Open>()
  #id = 0

  /** First to last; another array each time something of it changes. */
  get faults(): readonly Fault[] {
    return this.#faults
  }

  /** Notes that a fault was asked for; gives its id. */
  cause(name: FaultName, before: Standing, now: number, { ms, isAtWork = false }: Circumstances = {}): number {
    const id = ++this.#id
    const fault: Fault = {
      ...{ id, name, time: now, head: before.head, state: 'under-way' },
      ...(ms !== undefined && { ms }),
      ...(name === 'kill-worker' && isAtWork && { isLeaseHeld: true }),
    }
    this.#faults = [...this.#faults.slice(1 - MOST), fault]
    this.#open.set(id, { before, wasAway: false })
    return id
  }

  /** The host did not do it. */
  refuse(id: number, words: string): void {
    this.#settle(id, { state: 'refused', words })
  }

  /** Looks what has come of those that are under way; whether that changed anything. */
  see(standing: Standing, now: number): boolean {
    const before = this.#faults
    for (const [id, open] of [...this.#open]) {
      const fault = this.#faults.find(one => one.id === id)
      if (fault === undefined) {
        this.#open.delete(id)
        continue
      }
      if (!standing.isLive) open.wasAway = true
      const words = outcomeOf(fault, open, standing, now)
      if (words === undefined) continue
      const tookMs = fault.name === 'delay' ? {} : { tookMs: now - fault.time }
      this.#settle(id, { state: 'over', words, headAfter: standing.head, ...tookMs })
    }
    return before !== this.#faults
  }

  /** A run was taken over: the last worker that was killed was at it. */
  tookOver(sequence: number): boolean {
    const fault = this.#faults.findLast(({ name }) => name === 'kill-worker')
    if (fault === undefined || fault.takenOverAt !== undefined || sequence <= fault.head) return false
    this.#change(fault.id, { takenOverAt: sequence, isLeaseHeld: false })
    return true
  }

  /** A run has ended: nothing of it waits for a lease. */
  ended(sequence: number): boolean {
    const fault = this.#faults.findLast(({ isLeaseHeld }) => isLeaseHeld)
    if (fault === undefined || sequence <= fault.head) return false
    this.#change(fault.id, { isLeaseHeld: false })
    return true
  }

  #settle(id: number, fields: Partial<Fault>): void {
    this.#open.delete(id)
    this.#change(id, fields)
  }

  #change(id: number, fields: Partial<Fault>): void {
    this.#faults = this.#faults.map(fault => (fault.id === id ? { ...fault, ...fields } : fault))
  }
}

/** What has come of a fault; undefined while it is under way. */
function outcomeOf(fault: Fault, { before, wasAway }: Open, now: Standing, time: number): string | undefined {
  const isBack = now.isLive && (wasAway || !before.isLive)
  switch (fault.name) {
    case 'drop':
      if (isBack) return 'connected again'
      return !wasAway && time - fault.time > NOTICED_MS ? 'nothing was open' : undefined
    case 'delay':
      if (now.delayMs !== (fault.ms ?? 0)) return undefined
      return now.delayMs === 0 ? 'nothing waits any more' : 'every piece of a reply waits so long'
    case 'kill-worker': {
      const { worker } = now
      const isAnother = worker?.state === 'up' && worker.starts > (before.worker?.starts ?? 0)
      return isAnother ? `another is up, pid ${worker.pid}` : undefined
    }
    case 'restart-server': {
      const { server } = now
      return isBack && server && server.pid !== before.server?.pid ? `up and connected, pid ${server.pid}` : undefined
    }
  }
}
