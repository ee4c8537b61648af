// Shared by the server and the worker of a dev host: messages from and to the supervisor, and a graceful shutdown.

import { LoadError } from './load-app.ts'
import type { ChildMessage, ChildStart, SupervisorMessage } from './messages.ts'

/** Time limit of a graceful shutdown, in milliseconds. The supervisor may be gone and unable to kill the child. */
const SHUTDOWN_TIMEOUT_MS = 10_000

/** Returns the options that the supervisor started this child with. */
export const startOptions = (): ChildStart => JSON.parse(process.argv[2] ?? '{}')

/** Sends a message to the supervisor if it is still connected. */
export function send(message: ChildMessage): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

/** Reports to the supervisor why the child cannot start, and exits. */
export function fail(error: unknown): void {
  const message: ChildMessage = { type: 'failed', ...startFailureOf(error) }
  if (process.connected) process.send?.(message, undefined, undefined, () => process.exit(1))
  else process.exit(1)
}

/** Shuts down gracefully on `stop`, SIGTERM or disconnect. Passes other messages of the supervisor to `onMessage`. */
export function handleSupervisorMessages(
  close: () => Promise<void>,
  onMessage: (message: SupervisorMessage) => void = () => {},
): void {
  let isShuttingDown = false
  const shutDown = () => {
    // The supervisor is gone: nothing waits for a graceful shutdown any more.
    if (isShuttingDown && !process.connected) process.exit(1)
    if (isShuttingDown) return
    isShuttingDown = true
    setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref()
    close().then(
      () => process.exit(0),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  }
  // A terminal sends Ctrl-C to all of its processes. The supervisor decides when this one stops.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', shutDown)
  process.on('disconnect', shutDown)
  process.on('message', (message: SupervisorMessage) => (message.type === 'stop' ? shutDown() : onMessage(message)))
}

/** Classifies the error that prevents a child from starting, with a message for the developer. */
function startFailureOf(error: unknown): Omit<Extract<ChildMessage, { type: 'failed' }>, 'type'> {
  if (error instanceof LoadError) return { obstacle: 'file', message: error.message }
  const causes = causesOf(error)
  const portInUse = causes.find(({ code, port }) => code === 'EADDRINUSE' && port !== undefined)
  if (portInUse) return { obstacle: 'port', message: messageOf(error), port: Number(portInUse.port) }
  // The innermost message says most. A missing package is the exception: the error above it says how to install it.
  const inner = causes.findLast(({ code }) => code !== 'ERR_MODULE_NOT_FOUND')
  const isStore = causes.some(({ code }) => code === 'store_unavailable')
  if (isStore) return { obstacle: 'store', message: `The store cannot be opened: ${inner?.message}` }
  return { obstacle: 'file', message: messageOf(error) }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function causesOf(error: unknown): readonly (Error & { readonly code?: unknown; readonly port?: unknown })[] {
  const causes: Error[] = []
  for (let e = error; e instanceof Error && causes.length < 10; e = e.cause) causes.push(e)
  return causes
}
