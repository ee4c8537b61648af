/** The faults that can be injected. */
export type FaultName = 'drop' | 'delay' | 'kill-worker' | 'restart-server'

/** The state of the connection, server and worker, from which the outcome of a fault is derived. */
export interface SystemState {
  readonly isLive: boolean
  readonly delayMs: number
  readonly server?: { readonly pid: number } | undefined
  readonly worker?: { readonly state: string; readonly pid?: number; readonly starts: number } | undefined
  /** Head of this tab's log. */
  readonly head: number
}

/** An injected fault and its outcome. */
export interface Fault {
  readonly id: number
  readonly name: FaultName
  /** Duration of a delay, in ms. */
  readonly ms?: number
  /** Time in ms, as `performance.now()`. */
  readonly time: number
  /** Head of this tab's log at that time. */
  readonly head: number
  readonly state: 'open' | 'done' | 'rejected'
  /** The outcome, as text. */
  readonly outcome?: string
  /** Time until recovery, in ms. */
  readonly tookMs?: number
  /** Head of this tab's log at recovery. */
  readonly headAfter?: number
  /** Sequence at which another worker took over the run. */
  readonly takenOverAt?: number
  /** Whether the killed worker still holds the lease of a run, which no worker can drive until it expires. */
  readonly isLeaseHeld?: boolean
}

interface FaultDetails {
  /** Duration of a delay, in ms. */
  readonly ms?: number | undefined
  /** Whether a run is being driven. */
  readonly isRunning?: boolean
}

interface OpenFault {
  readonly before: SystemState
  wasOffline: boolean
}

/** Maximum number of faults in the list. */
const MAX_FAULTS = 100
/** Time within which a tab with an open stream notices a drop, in ms. */
const DROP_NOTICE_MS = 4000

/** The injected faults in order, each with its outcome. */
export class FaultLog {
  #faults: readonly Fault[] = []
  readonly #open = new Map<number, OpenFault>()
  #id = 0

  /** Oldest first. A new array after each change. */
  get faults(): readonly Fault[] {
    return this.#faults
  }

  /** Adds a fault and returns its id. */
  add(name: FaultName, before: SystemState, now: number, { ms, isRunning = false }: FaultDetails = {}): number {
    const id = ++this.#id
    const fault: Fault = {
      ...{ id, name, time: now, head: before.head, state: 'open' },
      ...(ms !== undefined && { ms }),
      ...(name === 'kill-worker' && isRunning && { isLeaseHeld: true }),
    }
    this.#faults = [...this.#faults.slice(1 - MAX_FAULTS), fault]
    this.#open.set(id, { before, wasOffline: false })
    return id
  }

  /** Marks a fault that the host rejected. */
  reject(id: number, outcome: string): void {
    this.#settle(id, { state: 'rejected', outcome })
  }

  /** Updates the open faults. Returns whether any changed. */
  update(current: SystemState, now: number): boolean {
    const before = this.#faults
    for (const [id, open] of [...this.#open]) {
      const fault = this.#faults.find(fault => fault.id === id)
      if (fault === undefined) {
        this.#open.delete(id)
        continue
      }
      if (!current.isLive) open.wasOffline = true
      const outcome = outcomeOf(fault, open, current, now)
      if (outcome === undefined) continue
      const tookMs = fault.name === 'delay' ? {} : { tookMs: now - fault.time }
      this.#settle(id, { state: 'done', outcome, headAfter: current.head, ...tookMs })
    }
    return before !== this.#faults
  }

  /** Records a takeover for the last killed worker. */
  recordTakeover(sequence: number): boolean {
    const fault = this.#faults.findLast(({ name }) => name === 'kill-worker')
    if (fault === undefined || fault.takenOverAt !== undefined || sequence <= fault.head) return false
    this.#change(fault.id, { takenOverAt: sequence, isLeaseHeld: false })
    return true
  }

  /** Clears the held lease after the end of a run. */
  recordRunEnd(sequence: number): boolean {
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

/** The outcome of a fault; undefined while it is open. */
function outcomeOf(
  fault: Fault,
  { before, wasOffline }: OpenFault,
  now: SystemState,
  time: number,
): string | undefined {
  const isBack = now.isLive && (wasOffline || !before.isLive)
  switch (fault.name) {
    case 'drop':
      if (isBack) return 'reconnected'
      return !wasOffline && time - fault.time > DROP_NOTICE_MS ? 'no open stream' : undefined
    case 'delay':
      if (now.delayMs !== (fault.ms ?? 0)) return undefined
      return now.delayMs === 0 ? 'no delay' : 'every response is delayed'
    case 'kill-worker': {
      const { worker } = now
      const isAnother = worker?.state === 'up' && worker.starts > (before.worker?.starts ?? 0)
      return isAnother ? `new worker, pid ${worker.pid}` : undefined
    }
    case 'restart-server': {
      const { server } = now
      return isBack && server && server.pid !== before.server?.pid ? `new server, pid ${server.pid}` : undefined
    }
  }
}
